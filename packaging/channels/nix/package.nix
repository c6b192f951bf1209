# The program, its manual pages, completions and mount helpers.
{ lib, rustPlatform, fetchurl, installShellFiles }:

rustPlatform.buildRustPackage rec {
  pname = "sinterfs";
  version = "@version@";

  src = fetchurl {
    url = "@downloads@/v${version}/sinterfs-${version}.tar.gz";
    sha256 = "@sha256.source@";
  };

  # of the source archive
  cargoLock.lockFile = ./Cargo.lock;
  cargoBuildFlags = [ "--package" "sinterfs-cli" ];
  nativeBuildInputs = [ installShellFiles ];
  # they need FUSE and the tools of others
  doCheck = false;

  postInstall = ''
    $out/bin/sinter man -o $out/share/man/man1
    for shell in bash zsh fish; do
      $out/bin/sinter completions $shell > sinter.$shell
      installShellCompletion --$shell sinter.$shell
    done
    ln -s sinter $out/bin/mount.sinter
    ln -s sinter $out/bin/mount.fuse.sinter
  '';

  meta = {
    description = "@summary@";
    homepage = "@home@";
    license = with lib.licenses; [ mit asl20 ];
    mainProgram = "sinter";
    platforms = lib.platforms.unix;
  };
}
