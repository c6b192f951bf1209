#!/bin/bash
# Shows IMAGE at DIRECTORY, with changes in memory; unpacks it where mounts are not possible.
# Without an image the directory stays empty. `sinter` is in PATH or named by SINTER.
set -euo pipefail
sinter=$(command -v "${SINTER:-sinter}")
mkdir -p "$DIRECTORY"
if [ -n "$(ls -A "$DIRECTORY")" ]; then
  echo "restore-directory: $DIRECTORY is not empty" >&2
  exit 1
fi
if [ ! -e "$IMAGE" ]; then
  echo "restore-directory: nothing was saved under this key"
  exit 0
fi
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
if ${as_root[@]+"${as_root[@]}"} "$sinter" mount --overlay tmpfs "$IMAGE" "$DIRECTORY"; then
  echo "restore-directory: mounted"
else
  echo "restore-directory: cannot mount here: unpacking" >&2
  "$sinter" extract "$IMAGE" --output "$DIRECTORY"
fi
