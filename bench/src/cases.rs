//! What can be measured: a file for each case, and the suites that they form.

mod ablate;
mod build;
mod cluster_sizes;
mod extract;
mod formats;
mod kernel_images;
mod kernel_reads;
mod listing;
mod mount;
pub mod mounts;
pub mod scale;
mod serve;

use crate::case::Case;

/// All cases, in the order of reports.
pub const ALL: [&dyn Case; 12] = [
    &build::Build,
    &extract::Extract,
    &mount::ReadAll,
    &mount::RandomRead,
    &serve::Serve,
    &ablate::Ablate,
    &scale::Scale,
    &cluster_sizes::ClusterSizes,
    &kernel_reads::KernelReads,
    &listing::Listing,
    &mounts::Mounts,
    &formats::Formats,
];

/// Returns the cases of a suite; none for one that measures nothing.
pub fn suite(name: &str) -> &'static [&'static dyn Case] {
    match name {
        "compare" => &ALL[..5],
        "ablate" => &ALL[5..6],
        "scale" => &ALL[6..7],
        "erofs" => &ALL[7..10],
        "mounts" => &ALL[10..11],
        "formats" => &ALL[11..],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::SUITES;

    #[test]
    fn every_case_is_in_one_suite_and_has_a_name_of_its_own() {
        let suites = SUITES.iter().flat_map(|name| suite(name));
        assert_eq!(suites.count(), ALL.len());
        let names: std::collections::BTreeSet<_> = ALL.iter().map(|case| case.name()).collect();
        assert_eq!(names.len(), ALL.len());
    }
}
