# docker build -t gatepost .
#
# One image for the gateway and the sandbox. It runs as the user 10001 and writes to /data and /tmp only, so its root
# file system can be read-only. How to run it: docs/how-to/deploy.md

FROM python:3.11-slim-bookworm AS build
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends make \
 && rm -rf /var/lib/apt/lists/* \
 && pip install --no-cache-dir uv==0.13.7
WORKDIR /source

# The libraries first: they change less often than the source.
COPY requirements.txt ./
RUN uv venv /opt/gatepost \
 && uv pip sync --no-cache --require-hashes --compile-bytecode --python /opt/gatepost/bin/python requirements.txt

COPY . .
RUN make dashboard \
 && uv build --wheel --out-dir /wheels . \
 && uv build --wheel --out-dir /wheels packages/gatepost-sandbox \
 && uv pip install --no-cache --no-deps --compile-bytecode --python /opt/gatepost/bin/python /wheels/*.whl


FROM python:3.11-slim-bookworm
# libmagic1: the library that holds the links of QR channels needs it.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libmagic1 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --user-group --home-dir /data --no-create-home --shell /usr/sbin/nologin gatepost \
 && install --directory --owner=gatepost --group=gatepost --mode=0700 /data
COPY --from=build /opt/gatepost /opt/gatepost

ENV PATH=/opt/gatepost/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    GATEPOST_DATA=/data \
    GATEPOST_SERVER__HOST=0.0.0.0 \
    GATEPOST_SERVER__PORT=8080 \
    GATEPOST_LOG__FORMAT=json
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM

# Alive, not ready: a container must not be replaced because its database is away.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 \
    CMD ["python", "-c", "import http.client, os; c = http.client.HTTPConnection('127.0.0.1', int(os.environ['GATEPOST_SERVER__PORT']), timeout=4); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]

ENTRYPOINT ["gatepost"]
CMD ["serve"]
