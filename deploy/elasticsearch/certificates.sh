#!/bin/bash
# Makes a certificate authority and one certificate per node, unless they exist.
set -euo pipefail

target=${CERTIFICATES:-/certificates}
nodes=(elasticsearch elasticsearch-2 elasticsearch-3)
PATH=/usr/share/elasticsearch/bin:$PATH

if [ ! -f "$target/ca/ca.crt" ]; then
    rm -rf "$target/making" && mkdir -p "$target/making"
    elasticsearch-certutil ca --silent --pem --days 3650 --out "$target/making/ca.zip"
    unzip -q "$target/making/ca.zip" -d "$target/making"
    {
        echo "instances:"
        for node in "${nodes[@]}"; do
            printf '  - {name: %s, dns: [%s, localhost], ip: [127.0.0.1]}\n' "$node" "$node"
        done
    } > "$target/making/instances.yml"
    elasticsearch-certutil cert --silent --pem --days 1825 --out "$target/making/certificates.zip" \
        --in "$target/making/instances.yml" \
        --ca-cert "$target/making/ca/ca.crt" --ca-key "$target/making/ca/ca.key"
    unzip -q "$target/making/certificates.zip" -d "$target/making"
    for node in "${nodes[@]}"; do
        rm -rf "${target:?}/$node" && mv "$target/making/$node" "$target/$node"
    done
    # The authority is moved last, so an interrupted run starts over.
    rm -rf "$target/ca" && mv "$target/making/ca" "$target/ca"
    rm -rf "$target/making"
fi

# Everyone may read certificates; only Elasticsearch (group 0) the keys, and only root the authority's key.
find "$target" -type d -exec chmod 755 {} +
find "$target" -name '*.crt' -exec chmod 644 {} +
find "$target" -name '*.key' -exec chown 0:0 {} + -exec chmod 640 {} +
chmod 600 "$target/ca/ca.key"
# A new volume belongs to root; Elasticsearch, which writes its snapshots there, runs as user 1000.
snapshots=${SNAPSHOTS:-/snapshots}
[ ! -d "$snapshots" ] || chown 1000:0 "$snapshots"
echo "Certificates are in place."
