# An image of the service, from what ./sluice package made:
#
#   ./sluice package && docker build -t sluice .
#
# Any base with glibc 2.36 or newer, sh and coreutils does; nothing is installed into it.
ARG BASE=debian:bookworm-slim
FROM ${BASE}

# One layer, with the times that the class-data archive expects.
ADD target/sluice-*-linux-x64.tar.gz /opt/
RUN ln -s /opt/sluice-*-linux-x64/bin/sluice /usr/local/bin/sluice

# The service writes nothing but the file of a random admin token, which it can do without.
USER 10001:10001
ENV HOME=/tmp SLUICE_HOST=0.0.0.0
EXPOSE 8080

# The JVM gets the signals itself: bin/sluice replaces its shell by it.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["/usr/local/bin/sluice", "health"]
ENTRYPOINT ["/usr/local/bin/sluice"]
CMD ["serve"]
