# Debian's etcd, for compose.yaml.
FROM debian:bookworm-slim
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends etcd-server curl \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -o etcd -g etcd /var/lib/etcd
USER etcd
CMD ["etcd"]
