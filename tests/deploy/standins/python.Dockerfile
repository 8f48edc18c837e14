# Stands in for the Dockerfile's base where no image can be pulled.
ARG DEBIAN
FROM $DEBIAN
COPY machine /
RUN ln -s /usr/bin/python3 /usr/local/bin/python
