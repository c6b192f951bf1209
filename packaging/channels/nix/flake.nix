{
  description = "@summary@";

  inputs.nixpkgs.url = "nixpkgs";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = nixpkgs.lib.genAttrs systems;
    in
    {
      packages = each (system: {
        default = nixpkgs.legacyPackages.${system}.callPackage ./package.nix { };
      });
      nixosModules.default = import ./module.nix;
    };
}
