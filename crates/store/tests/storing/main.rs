//! Files that are whole or not there.

mod files;
mod locks;
mod run_folders;
