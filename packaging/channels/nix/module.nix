# programs.sinter.enable makes `fileSystems.<dir>.fsType = "sinter"` work.
{ config, lib, pkgs, ... }:

let
  cfg = config.programs.sinter;
in
{
  options.programs.sinter = {
    enable = lib.mkEnableOption "sinter and mounts of its images";
    package = lib.mkOption {
      type = lib.types.package;
      default = pkgs.callPackage ./package.nix { };
      defaultText = lib.literalExpression "pkgs.callPackage ./package.nix { }";
      description = "The package of sinter.";
    };
  };

  config = lib.mkIf cfg.enable {
    environment.systemPackages = [ cfg.package ];
    # mount(8) finds mount.sinter there
    system.fsPackages = [ cfg.package ];
    boot.kernelModules = [ "fuse" ];
  };
}
