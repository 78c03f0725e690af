# syntax=docker/dockerfile:1
# The operator's image: Node, the libraries that it needs, and the bundle. No shell, no package manager.
#   docker build -t mooring/operator:dev .
#   NODE_IMAGE         where Node comes from, Node 24 on Debian
#   SOURCE_DATE_EPOCH  of the commit, in seconds: the same sources, NODE_IMAGE and time give the same layers
#   VERSION, REVISION  for the labels
ARG NODE_IMAGE=node:24-bookworm-slim

# The bundle is the same for every platform, so it is built once, on the machine's own.
FROM --platform=${BUILDPLATFORM:-linux} ${NODE_IMAGE} AS build
# Authorities that the base image trusts count for npm too.
ENV NODE_USE_SYSTEM_CA=1 NO_COLOR=1
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json LICENSE ./
COPY scripts ./scripts
COPY src ./src
ARG SOURCE_DATE_EPOCH=0
RUN npm run build \
 && mkdir -p /out/app \
 && cp -r dist/*.mjs dist/*.LEGAL.txt dist/sbom.cdx.json dist/ui LICENSE /out/app/ \
 && chmod -R u=rwX,go=rX /out \
 && find /out -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH}" {} +

# What V8 makes of the bundle, with which the operator starts faster: for this platform, this Node, and the user of the image.
FROM ${NODE_IMAGE} AS compiled
ARG SOURCE_DATE_EPOCH=0
COPY --from=build /out/app /app
COPY scripts/node-flags.ts scripts/compile-cache.ts /scripts/
RUN mkdir --mode=777 /out
USER 65532:65532
RUN mkdir /out/app \
 && node --hash-seed=1 --initial-old-space-size=1000 /scripts/compile-cache.ts /app/mooring.mjs /out/app/compile-cache \
 && chmod -R u=rwX,go=rX /out/app \
 && find /out/app -exec touch --date="@${SOURCE_DATE_EPOCH}" {} +

FROM ${NODE_IMAGE} AS runtime
ARG SOURCE_DATE_EPOCH=0
RUN mkdir -p /out/etc /out/tmp \
 && node=$(readlink -f "$(command -v node)") \
 && install -D "$node" /out/usr/local/bin/node \
 && ldd "$node" | grep -o '/[^ ]*' | xargs cp --dereference --parents --target-directory /out \
 && echo 'mooring:x:65532:65532::/:/sbin/nologin' >/out/etc/passwd \
 && echo 'mooring:x:65532:' >/out/etc/group \
 && echo 'hosts: files dns' >/out/etc/nsswitch.conf \
 && chmod 1777 /out/tmp \
 && find /out -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH}" {} +

FROM scratch
COPY --from=runtime /out/ /
COPY --from=build /out/ /
COPY --from=compiled /out/ /
USER 65532:65532
WORKDIR /app
ENV NODE_ENV=production PATH=/usr/local/bin NODE_COMPILE_CACHE=/app/compile-cache
# The flags of scripts/node-flags.ts, as in the bundle's first line.
ENTRYPOINT ["/usr/local/bin/node", "--max-semi-space-size=8", "--initial-old-space-size=64", "--v8-pool-size=1", "/app/mooring.mjs"]
CMD ["operator"]
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="mooring" \
      org.opencontainers.image.description="Kubernetes operator for a remote serverless GPU, speech and video service" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
