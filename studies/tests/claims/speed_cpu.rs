//! The network rebuilt in PyTorch is ours: the same weights give the same probabilities.

use std::path::Path;
use std::process::Command;

#[test]
fn pytorch_gives_the_same_probabilities() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let venv = root.join("target/study-venv/bin/python");
    let python = if venv.exists() { venv } else { "python3".into() };
    let has_torch = Command::new(&python).args(["-c", "import torch"]).output();
    if !has_torch.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: {} has no PyTorch, so no network was compared", python.display());
        return;
    }
    let output = Command::new(&python)
        .arg(root.join("studies/speed_cpu.py"))
        .args(["--check", "--program", env!("CARGO_BIN_EXE_speed_cpu")])
        .output()
        .expect("the comparison runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("uniform") && said.contains("skewed"), "{said}");
}
