# All programs in one image; compose.yaml runs it as order-svc, as inventory-svc and as the demo.
FROM debian:bookworm-slim AS build
WORKDIR /build
COPY scripts/deps scripts/shell.sh scripts/
RUN scripts/deps compile && rm -rf /var/lib/apt/lists/*
COPY . .
RUN make -j"$(nproc)" B=out all
# For another revision only the sources that name it are compiled again.
ARG REVISION=unknown
RUN make REVISION="$REVISION" B=out all && strip out/bin/*

# openssh-server is for the parts of swarm.yaml.
FROM debian:bookworm-slim
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        libuv1 libhiredis0.14 libpq5 libjansson4 libzookeeper-st2 zlib1g libseccomp2 libcurl4 libjq1 ca-certificates curl libcap2-bin \
        openssh-server \
    && rm -rf /var/lib/apt/lists/* /etc/ssh/ssh_host_* \
    && useradd --system --uid 10001 --no-create-home --home-dir / --shell /bin/sh sale \
    && install -d -o sale -g sale /results
COPY --from=build /build/out/bin/ /usr/local/bin/
# The right to real-time priority, for a container that has it (compose.yaml): permitted, but not effective until it is used.
RUN setcap cap_sys_nice=p /usr/local/bin/loadgen
USER sale
CMD ["loadgen", "--help"]
