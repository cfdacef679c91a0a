# The official images build CPython with profile-guided and link-time optimization.
# 3.13 is a version that the test suite runs on.
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
# Wheels hold machine code (docs/compiled.md); the compiler stays in this stage.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# 1: compile, or fail.
RUN TXINGRESS_USE_MYPYC=1 python -m pip wheel --no-cache-dir --no-deps --wheel-dir /dist .
# --copies: this environment's interpreter gets a capability below, the image's own does not.
RUN python -m venv --copies --without-pip /opt/txingress \
 && python -m pip --python /opt/txingress/bin/python install --no-cache-dir --compile /dist/txingress-*.whl

FROM python:${PYTHON}-slim
COPY --from=build /opt/txingress /opt/txingress
# Twisted's plug-in cache is written here once; the user below may not write it.
RUN /opt/txingress/bin/twistd --help >/dev/null
# Nor may it write bytecode, and the base image has none of Python's own library: what is imported here, no start has to compile.
RUN /opt/txingress/bin/python -c "import ingress.service, ingress.cluster.api_server, ingress.status.reporting, ingress.workers.pool"
# A non-root process gets no use of an added capability unless its executable carries it too
# (k8s/README.md).  In exchange the interpreter starts only where NET_BIND_SERVICE is allowed.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libcap2-bin \
 && setcap cap_net_bind_service=+ep /opt/txingress/bin/python \
 && apt-get purge --yes --auto-remove libcap2-bin \
 && rm -rf /var/lib/apt/lists/*
# --build-arg FIREWALL=yes: with what --firewall-processes needs, libmodsecurity 3 and the OWASP Core Rule Set (docs/firewall.md).
ARG FIREWALL=no
RUN if [ "$FIREWALL" = yes ]; then \
      apt-get update \
      && apt-get install --yes --no-install-recommends libmodsecurity3 modsecurity-crs \
      && rm -rf /var/lib/apt/lists/* \
      && /opt/txingress/bin/python -m ingress.firewall.main --check; \
    fi
ENV PATH=/opt/txingress/bin:$PATH
USER 65532:65532
WORKDIR /
EXPOSE 80 443 10254
ENTRYPOINT ["/opt/txingress/bin/twistd", "-n", "--pidfile=", "ingress"]
