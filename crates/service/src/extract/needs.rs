//! The permission that a request needs, as a type: `ChatScope<Read>` cannot be confused with `ChatScope<Run>`.

use records::Permission;

/// A permission that a request needs.
pub(crate) trait Needed: Send + Sync + 'static {
    const PERMISSION: Permission;
}

macro_rules! needed {
    ($($name:ident),*) => {$(
        #[doc = concat!("[`Permission::", stringify!($name), "`]")]
        #[derive(Debug)]
        pub(crate) struct $name;

        impl Needed for $name {
            const PERMISSION: Permission = Permission::$name;
        }
    )*};
}

needed!(Bill, Create, Manage, Read, Run, Say);
