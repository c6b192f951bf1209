//! The command line that an image records as its history, without the options of its format: what
//! its bytes depend on in addition to the input, so neither paths nor the number of threads.
//!
//! **Invariant:** these words are bytes of images: a change of them changes every DwarFS image.

use sinterfs_format::{Level, RunWords};
use sinterfs_model::Categorizers;

use crate::write::recompress_request::{RecompressParts, RecompressRequest};
use crate::write::request::BuildRequest;

/// Returns the command line of a build, merge or conversion.
pub(crate) fn of_build(request: &BuildRequest, level: &Level, command: &str) -> RunWords {
    let order = request.order.unwrap_or(level.order);
    let compression = request.compression.as_deref().unwrap_or(level.compression);
    let block_size = request.block_size.unwrap_or(1 << level.block_bits);
    let mut more = Vec::new();
    more.extend(request.categorizers.map(|chosen| match chosen {
        Categorizers::NONE => "--no-categorize".to_owned(),
        chosen => format!("--categorize={chosen}"),
    }));
    let flags = [
        (!request.duplicates, "--no-duplicates"),
        (request.sort.is_some(), "--sort"),
        (request.hot.is_some(), "--hot"),
    ];
    push_set(&mut more, &flags);
    RunWords {
        command: vec!["sinter".to_owned(), command.to_owned()],
        settings: Some(vec![
            format!("--level={}", request.level),
            format!("--compression={compression}"),
            format!("--block-size={block_size}"),
            format!("--order={order}"),
        ]),
        more,
    }
}

/// Returns the command line of a recompression.
pub(crate) fn of_recompression(request: &RecompressRequest, compression: &str) -> RunWords {
    let parts = match request.parts {
        RecompressParts::All => format!("--compression={compression}"),
        RecompressParts::Blocks => format!("--only=blocks --compression={compression}"),
        RecompressParts::Metadata => "--only=metadata".to_owned(),
        RecompressParts::None => "--only=none".to_owned(),
    };
    let mut more = Vec::new();
    if let Some((names, inverted)) = &request.categories {
        let not = if *inverted { "!" } else { "" };
        more.push(format!("--categories={not}{}", names.join(",")));
    }
    let flags = [
        (request.keep_smaller, "--keep-smaller"),
        (request.rebuild_metadata, "--rebuild-metadata"),
    ];
    push_set(&mut more, &flags);
    RunWords {
        command: vec!["sinter".to_owned(), "recompress".to_owned(), parts],
        settings: None,
        more,
    }
}

fn push_set(words: &mut Vec<String>, flags: &[(bool, &str)]) {
    let set = flags.iter().filter(|(is_set, _)| *is_set);
    words.extend(set.map(|(_, flag)| (*flag).to_owned()));
}
