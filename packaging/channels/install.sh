#!/bin/sh
# Installs sinter @version@ for Linux, with its manual pages, completions and mount helpers.
#   sh install.sh [--prefix DIR] [--from URL-OR-DIRECTORY] [--unsigned]
# Nothing is installed before its checksum, and the signature of the checksums, are verified.
set -eu
version=@version@
from=@downloads@/v$version
key=@public_key@
prefix=/usr/local
signed=1
fail() {
  echo "install.sh: $*" >&2
  exit 1
}
while [ $# -gt 0 ]; do
  case $1 in
  --prefix) prefix=${2:?--prefix needs a directory}; shift 2 ;;
  --from) from=${2:?--from needs an address or a directory}; shift 2 ;;
  --unsigned) signed=''; shift ;;
  *) fail "unknown option $1" ;;
  esac
done
[ "$(uname -s)" = Linux ] || fail "for Linux; other systems: @home@"
case $(uname -m) in
x86_64 | aarch64 | riscv64) machine=$(uname -m) ;;
armv7*) machine=armv7 ;;
*) fail "no program for $(uname -m)" ;;
esac
program=sinter-$version-$machine-linux
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch() {
  if [ -d "$from" ]; then
    cp "$from/$1" "$work/$1"
  elif command -v curl >/dev/null 2>&1; then
    curl --fail --silent --show-error --location --proto '=https' -o "$work/$1" "$from/$1"
  elif command -v wget >/dev/null 2>&1; then
    wget -q --https-only -O "$work/$1" "$from/$1"
  else
    fail "needs curl or wget"
  fi || fail "cannot get $1 from $from"
}
fetch "$program"
fetch SHA256SUMS
if [ -z "$signed" ]; then
  echo "install.sh: the signature is not verified: --unsigned" >&2
else
  command -v minisign >/dev/null 2>&1 ||
    fail "needs minisign to verify the signature; --unsigned goes without"
  fetch SHA256SUMS.minisig
  minisign -V -q -P "$key" -m "$work/SHA256SUMS" || fail "SHA256SUMS has a wrong signature"
fi
(cd "$work" && grep "  $program\$" SHA256SUMS >expected) ||
  fail "SHA256SUMS does not name $program"
(cd "$work" && sha256sum -c expected >/dev/null) || fail "$program has a wrong checksum"
chmod 755 "$work/$program"
"$work/$program" --version >/dev/null || fail "$program does not run here"
install -d "$prefix/bin" "$prefix/sbin" "$prefix/share/man/man1" \
  "$prefix/share/bash-completion/completions" "$prefix/share/zsh/site-functions" \
  "$prefix/share/fish/vendor_completions.d" || fail "cannot write to $prefix: root, or --prefix"
# renamed, so that a running program is replaced, too
install -m 755 "$work/$program" "$prefix/bin/.sinter.new"
mv "$prefix/bin/.sinter.new" "$prefix/bin/sinter"
"$prefix/bin/sinter" man -o "$prefix/share/man/man1"
"$prefix/bin/sinter" completions bash >"$prefix/share/bash-completion/completions/sinter"
"$prefix/bin/sinter" completions zsh >"$prefix/share/zsh/site-functions/_sinter"
"$prefix/bin/sinter" completions fish >"$prefix/share/fish/vendor_completions.d/sinter.fish"
for name in mount.sinter mount.fuse.sinter; do
  ln -sf ../bin/sinter "$prefix/sbin/$name"
done
echo "$prefix/bin/sinter: $("$prefix/bin/sinter" --version | head -n 1)"
