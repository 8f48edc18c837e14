# The service in two stages: the first builds a virtual environment, the second holds only that, git and a user
# without rights. Dependencies are pinned by constraints.txt.
# `deep` adds ONNX Runtime, 63 MB, for TREELINE_QUALITY=best and the encoder `deep`.
# `docker build --build-arg EXTRAS=elasticsearch,serve,transformers .` adds transformer encoders, cross-encoder and geoopt.
FROM python:3.11.14-slim-bookworm AS build

ARG EXTRAS=deep,elasticsearch,serve
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/treeline
WORKDIR /src

# Dependencies first: they change less often than the code, so this layer is kept between builds.
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY scripts/requirements.py scripts/remove_unused_grammars.py scripts/
RUN python scripts/requirements.py "$EXTRAS" > requirements.txt \
    && /opt/treeline/bin/pip install --no-cache-dir --constraint constraints.txt --requirement requirements.txt

COPY corpus corpus
COPY encoder encoder
COPY engine engine
COPY eval eval
COPY graph graph
COPY ingest ingest
COPY models models
COPY rerank rerank
COPY search search
COPY service service
COPY treeline treeline
# ONNX Runtime requires sympy, which only its tools import; torch does need it. Without ONNX Runtime the models are of no use.
RUN if /opt/treeline/bin/pip show --quiet onnxruntime; then models=./models; fi \
    && /opt/treeline/bin/pip install --no-cache-dir --no-deps --constraint constraints.txt . $models \
    && /opt/treeline/bin/python scripts/remove_unused_grammars.py \
    && if ! /opt/treeline/bin/pip show --quiet torch; then /opt/treeline/bin/pip uninstall --yes sympy mpmath; fi \
    && /opt/treeline/bin/pip uninstall --yes setuptools pip \
    && find /opt/treeline/lib -type d -name tests -prune -exec rm -rf {} +

FROM python:3.11.14-slim-bookworm

LABEL org.opencontainers.image.title="Treeline" \
      org.opencontainers.image.description="Code search that knows the repository tree" \
      org.opencontainers.image.licenses="Apache-2.0"

# git reads repositories; its version follows Debian stable, so that security updates come with a rebuild.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 treeline \
    && useradd --uid 10001 --gid treeline --no-create-home --home-dir /data --shell /usr/sbin/nologin treeline \
    && install --directory --owner=treeline --group=treeline --mode=0750 /data

COPY --from=build /opt/treeline /opt/treeline
COPY deploy/start.sh /usr/local/bin/treeline-start

ENV PATH=/opt/treeline/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    TREELINE_HOME=/data \
    TREELINE_TRUST_LOOPBACK=0 \
    TREELINE_BIND=0.0.0.0:8080
VOLUME /data
WORKDIR /data
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM

# Ready is more than alive: an index is open and its engine answers. The first start builds an index before that.
HEALTHCHECK --interval=15s --timeout=5s --start-period=300s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/readyz', timeout=4)"]
ENTRYPOINT ["/usr/local/bin/treeline-start"]
