//! The command line that an image records as its history: the options that its bytes depend on
//! besides the input, so neither paths nor the number of threads.
//!
//! **Invariant:** these words are bytes of images: a change of them changes every DwarFS image.

use sinterfs_format::{Level, recorded_purpose::PURPOSE};
use sinterfs_model::Categorizers;

use crate::write::recompress_request::{RecompressParts, RecompressRequest};
use crate::write::request::BuildRequest;
use crate::write::times;

/// Returns the command line of a build, merge or conversion.
pub(crate) fn of_build(
    request: &BuildRequest,
    level: &Level,
    command: &str,
    time_unit: u64,
) -> Vec<String> {
    let order = request.order.unwrap_or(level.order);
    let mut words = vec![
        "sinter".to_owned(),
        command.to_owned(),
        format!("{PURPOSE}{}", request.purpose()),
        format!("--level={}", request.level),
        format!(
            "--compression={}",
            request.compression.as_deref().unwrap_or(level.compression)
        ),
        format!(
            "--block-size={}",
            request.block_size.unwrap_or(1 << level.block_bits)
        ),
        format!("--order={order}"),
        match &request.time_resolution {
            Some(text) => format!("--time-resolution={text}"),
            None => format!("--time-resolution={}", times::shown(time_unit)),
        },
    ];
    for (category, compression) in &request.by_category {
        words.push(format!("--compression={category}::{compression}"));
    }
    words.extend(request.categorizers.map(|chosen| match chosen {
        Categorizers::NONE => "--no-categorize".to_owned(),
        chosen => format!("--categorize={chosen}"),
    }));
    if !request.duplicates {
        words.push("--no-duplicates".to_owned());
    }
    words.extend(request.sort.as_ref().map(|_| "--sort".to_owned()));
    words.extend(request.hot.as_ref().map(|_| "--hot".to_owned()));
    words.extend(request.base.as_ref().map(|_| "--base".to_owned()));
    words.extend(
        request
            .lookback
            .map(|blocks| format!("--lookback={blocks}")),
    );
    words.extend(request.read_cost.map(|cost| format!("--read-cost={cost}")));
    words
}

/// Returns the command line of a recompression.
pub(crate) fn of_recompression(request: &RecompressRequest, compression: &str) -> Vec<String> {
    let mut words = vec!["sinter".to_owned(), "recompress".to_owned()];
    words.push(match request.parts {
        RecompressParts::All => format!("--compression={compression}"),
        RecompressParts::Blocks => format!("--only=blocks --compression={compression}"),
        RecompressParts::Metadata => "--only=metadata".to_owned(),
        RecompressParts::None => "--only=none".to_owned(),
    });
    let rules = request.build.by_category.iter();
    words.extend(rules.map(|(category, codec)| format!("--compression={category}::{codec}")));
    if let Some((names, inverted)) = &request.categories {
        let not = if *inverted { "!" } else { "" };
        words.push(format!("--categories={not}{}", names.join(",")));
    }
    let flags = [
        (request.keep_smaller, "--keep-smaller"),
        (request.rebuild_metadata, "--rebuild-metadata"),
    ];
    let set = flags.iter().filter(|(is_set, _)| *is_set);
    words.extend(set.map(|(_, flag)| (*flag).to_owned()));
    words
}
