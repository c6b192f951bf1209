//! `sinter convert`: an image or an archive becomes one of another format, or of the same with other settings.

use std::process::ExitCode;

use sinterfs::{Input, Result};

use super::make_image::MakeImageArgs;
use crate::args::input::ImageArgs;

/// Turn an image into one of another format, or an archive into one, without unpacking it to disk.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter convert live.squashfs -o live.dwarfs          the format by the extension
  sinter convert tool.AppImage -o tool.dwarfs -l9      the image is found behind what stands before it
  sinter convert old.dwarfs -o - -f dwarfs | ssh host 'cat > new.dwarfs'
  sinter convert in.dwarfs -o out.dwarfs --strict      fail if anything can't be kept

Any image that sinter reads becomes any format that it writes. Names, modes, owners, times, devices, hard
links, holes and extended attributes stay as far as the new format has them; what it does not is told
and counted, and with --strict an error. A damaged image is an error, too, and then nothing is written.

Content goes through memory, and through the scratch directory what does not fit there: each block of
the old image is decoded once. To change an image within its format `sinter recompress` is quicker.
SOURCE_DATE_EPOCH, if set, is recorded as the time of creation, and no file gets a later time.")]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    #[command(flatten)]
    make: MakeImageArgs,
}

/// Converts.
pub fn run(args: Args) -> Result<ExitCode> {
    let options = args.image.options();
    let input = match Input::of(&args.image.image, &options)? {
        // a directory is nothing to convert: opening it as an image says so
        Input::Directory(path) => Input::Image { path, options },
        input => input,
    };
    args.make.run(input, |_| ())
}
