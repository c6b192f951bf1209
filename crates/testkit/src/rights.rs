//! Work of a test without the rights of root.

/// Does something as an ordinary user; as root in a thread that has given its rights away. Threads
/// that it starts inherit what it has left.
pub fn as_ordinary_user<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if !rustix::process::geteuid().is_root() {
        return work();
    }
    let drop_rights = || {
        let nobody = 65_534;
        let (uid, gid) = (
            rustix::fs::Uid::from_raw(nobody),
            rustix::fs::Gid::from_raw(nobody),
        );
        rustix::thread::set_thread_groups(&[]).unwrap();
        rustix::thread::set_thread_res_gid(gid, gid, gid).unwrap();
        rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
        work()
    };
    let thread = std::thread::Builder::new();
    std::thread::scope(|scope| {
        let started = thread.spawn_scoped(scope, drop_rights).unwrap();
        started.join().unwrap()
    })
}
