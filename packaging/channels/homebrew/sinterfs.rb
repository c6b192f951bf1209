class Sinterfs < Formula
  desc "@summary@"
  homepage "@home@"
  url "@downloads@/v@version@/sinterfs-@version@.tar.gz"
  sha256 "@sha256.source@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/cli")
    generate_completions_from_executable(bin/"sinter", "completions")
    system bin/"sinter", "man", "-o", man1
  end

  test do
    (testpath/"tree/a.txt").write "hello"
    system bin/"sinter", "build", "tree", "-o", "tree.dwarfs"
    assert_equal "hello", shell_output("#{bin}/sinter cat tree.dwarfs a.txt")
  end
end
