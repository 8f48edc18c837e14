# Stands in for Elasticsearch's image where it cannot be pulled: same folders, same user, same rule from environment to setting.
ARG DEBIAN
FROM $DEBIAN
COPY machine /
RUN apt-get update \
    && apt-get install --yes --no-install-recommends curl unzip \
    && rm -rf /var/lib/apt/lists/*
COPY elasticsearch /usr/share/elasticsearch
COPY java /opt/java
COPY entrypoint.sh /usr/local/bin/docker-entrypoint.sh
RUN useradd --uid 1000 --gid 0 --home-dir /usr/share/elasticsearch elasticsearch \
    && mkdir -p /usr/share/elasticsearch/data /usr/share/elasticsearch/logs /usr/share/elasticsearch/config/certs \
    && printf 'network.host: 0.0.0.0\n' > /usr/share/elasticsearch/config/elasticsearch.yml \
    && chown -R 1000:0 /usr/share/elasticsearch && chmod -R g=u /usr/share/elasticsearch \
    && chmod 755 /usr/local/bin/docker-entrypoint.sh
ENV PATH=/usr/share/elasticsearch/bin:$PATH ES_JAVA_HOME=/opt/java
WORKDIR /usr/share/elasticsearch
USER 1000:0
ENTRYPOINT ["/usr/local/bin/docker-entrypoint.sh"]
