# syntax=docker/dockerfile:1
# The daemon in a container: docs/deploy-container.md. For amd64 and arm64 (Grace):
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=0.1.0 --tag REGISTRY/fabric-exporter:0.1.0 --push .
# glibc and not musl: the NVIDIA runtime puts the driver's libnvidia-ml.so.1 into the container, and that needs glibc. No NCCL, no CUDA.
# A release pins the base by its digest: --build-arg BASE=python:3.13-slim-bookworm@sha256:…
ARG BASE=python:3.13-slim-bookworm

FROM ${BASE} AS build
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY exporter/ exporter/
COPY dashboards/generated/ dashboards/generated/
# Wheels only: nothing is compiled, so both platforms get what was tested. Byte code is made now: the root file system is read-only later.
# hadolint ignore=DL3013
RUN python -m venv --without-pip /opt/fabric-exporter \
 && pip --python /opt/fabric-exporter/bin/python install --no-cache-dir --only-binary :all: '.[auth,kubernetes]' \
 && /opt/fabric-exporter/bin/python -m compileall -q /opt/fabric-exporter/lib \
 && install -d -o 65532 -g 65532 -m 0750 /empty/state /empty/run

FROM ${BASE}
ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=unknown
ARG SOURCE=unknown
ARG BASE
LABEL org.opencontainers.image.title="fabric-exporter" \
      org.opencontainers.image.description="Prometheus exporter for the GPU cluster fabric: NVLink, InfiniBand, RoCE, PCIe" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.base.name="${BASE}"
COPY --from=build /opt/fabric-exporter /opt/fabric-exporter
# Folders of the daemon's own user, so that a volume made for them belongs to it.
COPY --from=build --chown=65532:65532 /empty/state /var/lib/fabric-exporter
COPY --from=build --chown=65532:65532 /empty/run /run/fabric-exporter
# utility: NVML and nothing of CUDA. DISABLE_REQUIRE: an exporter runs with any driver. Without the NVIDIA runtime these mean nothing.
ENV PATH=/opt/fabric-exporter/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=utility \
    NVIDIA_DISABLE_REQUIRE=true
USER 65532:65532
EXPOSE 29100
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 CMD ["fabric-exporter", "healthcheck"]
ENTRYPOINT ["fabric-exporter"]
CMD ["run"]
