#!/bin/bash
# Packs DIRECTORY into IMAGE. If DIRECTORY shows an older IMAGE, its blocks are taken over.
# `sinter` is in PATH or named by SINTER.
set -euo pipefail
sinter=${SINTER:-sinter}
base=()
[ ! -e "$IMAGE" ] || base=(--base "$IMAGE")
"$sinter" build ${base[@]+"${base[@]}"} --output "$IMAGE.new" -- "$DIRECTORY"
# the mount keeps reading the older file
mv "$IMAGE.new" "$IMAGE"
