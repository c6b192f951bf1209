#!/bin/bash
# Builds IMAGE of SOURCE with OPTIONS, and writes its SHA-256 as the output `digest`.
# `sinter` is in PATH or named by SINTER.
set -euo pipefail
sinter=${SINTER:-sinter}
read -ra options <<<"${OPTIONS:-}"
"$sinter" build ${options[@]+"${options[@]}"} --output "$IMAGE" -- "$SOURCE"
digest=$(sha256sum <"$IMAGE")
echo "digest=${digest%% *}" >>"$GITHUB_OUTPUT"
