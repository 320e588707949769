//! Models, requests and disks that cannot be used: a clear message, exit 2, and nothing lost.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::clinic::TRAIN;
use crate::common::{Folder, Ran, program};

#[test]
fn devices_are_told_of_or_refused() {
    let folder = Folder::with_records(100);
    let run = |options: &str| folder.run(&format!("{TRAIN} model --epochs 1 --force {options}"));
    run("--device tpu").refuses(&["no device is called `tpu`", "cuda:0"]);
    for network in ["recurrent", "halo"] {
        // There is no GPU, or there are fewer.
        run(&format!("--network {network} --device cuda:99")).refuses(&["--device cpu"]);
    }
    assert!(run("--device cpu").exits(0).err.contains("training on the CPU, as asked"));
    assert!(run("--network halo").exits(0).err.contains("training on "));
}

#[test]
fn devices_to_generate_on_are_told_of_or_refused() {
    let folder = Folder::with_model();
    let run = |options: &str| {
        folder.run(&format!("generate model --records 20 --out new --force {options}"))
    };
    run("--device gpu").refuses(&["no device is called `gpu`", "cuda:0"]);
    // There is no GPU, or there are fewer.
    run("--device cuda:99").refuses(&["--device cpu"]);
    assert!(run("--device cpu").exits(0).err.contains("generating on the CPU, as asked"));
    assert!(run("").exits(0).err.contains("generating on "));
}

#[test]
fn damaged_models_are_refused_and_named() {
    let folder = Folder::with_model();
    let path = folder.path("model/model.safetensors");
    let weights = std::fs::read(&path).expect("weights");
    let card = folder.read("model/model.json");
    let refused = |parts: &[&str]| {
        let generate = folder.run("generate model --records 5 --out new");
        generate.refuses(&[&["model/model", "help"], parts].concat());
        let evaluate = "evaluate --perplexity model --real clinic/repaired.jsonl";
        folder.run(evaluate).refuses(parts);
    };
    let with_weights = |bytes: &[u8], parts: &[&str]| {
        std::fs::write(&path, bytes).expect("other weights");
        refused(parts);
    };
    with_weights(&weights[..weights.len() / 2], &["not a whole safetensors file"]);
    with_weights(&[], &["not a whole safetensors file"]);
    with_weights(b"\x80\x02}q\x00X\x01\x00\x00\x00aq\x01.", &["pickle", "safetensors"]);
    with_weights(b"PK\x03\x04archive/data.pkl", &["pickle"]);
    let mut odd = weights.clone();
    let last = odd.len() - 4;
    odd[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    with_weights(&odd, &["not finite"]);
    odd[last..].copy_from_slice(&0.5f32.to_le_bytes());
    with_weights(&odd, &["the weights are not those that model.json speaks of"]);
    std::fs::write(&path, &weights).expect("the weights");

    let changed = |card: &str, from: &str, to: &str, part: &str| {
        assert!(card.contains(from), "{from}");
        folder.write("model/model.json", card.replacen(from, to, 1));
        refused(&[part]);
    };
    // A rule that is taken out, and what changes nothing that anyone reads.
    let rules = card.split("\"rules\": \"").nth(1).expect("rules");
    let rule = &rules[..=rules.find("\\n").expect("a rule")];
    let not_as_written = "model.json is not as it was written";
    changed(&card, &format!("{rule}n"), "", not_as_written);
    changed(&card, "\"max_visits\": ", "\"max_visits\":  ", not_as_written);
    changed(&card, "\"format\": 3", "\"format\": 1", not_as_written);
    changed(&card, "\"format\": 3", "\"format\": 0", "no model of format 0");
    let newer = "made by a newer version of this program, format 9; this one reads up to 6";
    changed(&card, "\"format\": 3", "\"format\": 9", newer);
    // A card of format 1 has no digest of its own, and is looked at all the same.
    let digest = card.rfind(",\n  \"card_digest\"").expect("a digest");
    let old = format!("{}\n}}\n", &card[..digest]).replace("\"format\": 3", "\"format\": 1");
    for (from, to, part) in [
        ("\"width\": 64", "\"width\": 32", "has shape"),
        ("\"SMOKER\",", "", "not those of the network"),
        ("\"SMOKER\"", "\"SEX//F\"", "no model card"),
    ] {
        changed(&old, from, to, part);
    }
    folder.write("model/model.json", &old);
    folder.run("generate model --records 5 --out old.jsonl").exits(0);
    for name in ["old.jsonl", "old.codes.json"] {
        std::fs::remove_file(folder.path(name)).expect("it goes");
    }
    folder.write("model/model.json", &card[..card.len() / 3]);
    refused(&["no model card"]);
    std::fs::remove_file(folder.path("model/model.json")).expect("it goes");
    folder.run("generate model --records 5 --out new").refuses(&["holds no model", "--> model"]);
    folder.run("generate clinic/codes.json --records 5 --out new").refuses(&["help"]);
    assert_eq!(folder.names(), ["clinic", "model"]);
}

#[test]
fn other_codes_than_the_models() {
    let folder = Folder::with_model();
    folder.write("a.rules", "rule a: SMOKER => not ICD9CM//999");
    let generate = "generate model --records 20 --rules a.rules --out new";
    let parts =
        ["unknown code `ICD9CM//999`", "--> a.rules:1", "the model model", "--allow-unknown"];
    folder.run(generate).refuses(&parts);
    let evaluate = "evaluate --perplexity model --real clinic/repaired.jsonl --rules a.rules";
    folder.run(evaluate).refuses(&parts);
    folder.run(&format!("{generate} --allow-unknown")).exits(0);
    let stranger = "{\"id\":\"secret\",\"static\":[\"SEX//F\"],\"visits\":[[\"STRANGE\"]]}\n";
    folder.write("strange.jsonl", stranger);
    for command in [
        "evaluate --perplexity model --real strange.jsonl",
        "generate model --records 5 --prefix strange.jsonl --out more",
    ] {
        let ran = folder.run(command);
        assert!(!ran.err.contains("secret"), "{}", ran.err);
        ran.refuses(&["STRANGE", "--> strange.jsonl:1", "help"]);
    }
    // The weights of a model of other codes.
    folder.run("train strange.jsonl --out odd").refuses(&["split has no records", "help"]);
    let lines = |n: usize| format!("{{\"id\":{n},\"static\":[],\"visits\":[[\"A\"],[\"B\"]]}}\n");
    folder.write("ab.jsonl", (0..80).map(lines).collect::<String>());
    folder.run("train ab.jsonl --size tiny --epochs 1 --out ab").exits(0);
    let [from, to] = ["ab", "model"].map(|name| folder.path(name).join("model.safetensors"));
    std::fs::copy(from, to).expect("a copy");
    folder.run("generate model --records 5 --out more").refuses(&["has shape", "help"]);
}

#[test]
fn wishes_that_cannot_be_granted() {
    let folder = Folder::with_model();
    let generate = |words: &[&str]| {
        let mut command = program(&folder.path(""));
        Ran::of(command.args(["generate", "model", "--out", "new", "--records"]).args(words))
    };
    generate(&["10", "--given", "SEX//F, SEX//M"]).refuses(&[
        "no record can obey these rules together",
        "one-sex",
        "the conditions given",
        "SEX//F",
        "help",
    ]);
    generate(&["10", "--given", "SEX//X"]).refuses(&["no code `SEX//X`", "SEX//F", "help"]);
    generate(&["10", "--given", "END"])
        .refuses(&["every record that is written has an end", "help"]);
    generate(&["10", "--given", ","]).refuses(&["a condition is empty", "help"]);
    for temperature in ["0", "-1", "NaN", "inf"] {
        generate(&["10", "--temperature", temperature]).refuses(&["above 0", "help"]);
    }
    generate(&["0"]).refuses(&["at least one record"]);
    generate(&["10", "--batch", "0"]).refuses(&["--batch"]);
    generate(&["10", "--proposals", "0", "--mode", "exact"]).refuses(&["--proposals"]);
    generate(&["10", "--mode", "sideways"]).refuses(&["guided, override, exact, reject, off"]);
    folder.write(
        "broken.jsonl",
        "{\"id\":1,\"static\":[\"SEX//M\"],\"visits\":[[\"ICD9CM//650\"]]}\n",
    );
    generate(&["10", "--prefix", "broken.jsonl"])
        .refuses(&["record 1 of the prefix", "forbids it"]);
    folder.write("hard.rules", "rule a: SMOKER\nrule b: not SMOKER\n");
    generate(&["10", "--rules", "hard.rules"]).refuses(&["rule a: SMOKER", "rule b: not SMOKER"]);
    assert_eq!(folder.names(), ["broken.jsonl", "clinic", "hard.rules", "model"]);
}

#[test]
fn training_that_cannot_begin() {
    let folder = Folder::with_records(300);
    let refused = |options: &str, parts: &[&str]| {
        folder.run(&format!("{TRAIN} model {options}")).refuses(parts);
    };
    refused("--max-visits 1", &["the network has room for 1", "--max-visits"]);
    let heads = "--network halo --heads 5";
    refused(heads, &["5 heads cannot share a width of 32", "--heads"]);
    let of_halo = ["--heads 2", "--layers 1", "--head-units 1", "--dropout 0.1"];
    for option in of_halo {
        refused(option, &["means nothing for the recurrent network", "--network halo"]);
    }
    let other = "--network halo --head-width 8";
    refused(other, &["head width means nothing for the halo network", "--network recurrent"]);
    folder
        .run("train clinic/repaired.jsonl --out model --network recurrent --size paper")
        .refuses(&["no recurrent network of the size paper", "--network halo"]);
    refused("--epochs 0", &["at least 1"]);
    refused("--rate -1", &["above 0"]);
    folder.run("train x --out model --size huge").refuses(&["tiny, small, large, paper"]);
    refused("--rate 1e30 --epochs 1", &["not a number", "--rate"]);
    folder.run("train none.jsonl --out model").refuses(&["--> none.jsonl", "help"]);
    folder.run(&format!("{TRAIN} none/model")).refuses(&["no directory `none`", "help"]);
    folder.run(&format!("{TRAIN} clinic")).refuses(&["not empty", "--> clinic", "help"]);
    folder.run(&format!("{TRAIN} clinic/codes.json")).refuses(&["not a folder", "help"]);
    folder.write("hard.rules", "rule a: SMOKER\nrule b: not SMOKER\n");
    let train = "train clinic/repaired.jsonl --rules hard.rules --out model";
    folder.run(train).refuses(&["no record can obey", "rule a: SMOKER", "help"]);
}

/// The program, training for a while; ready once it has a checkpoint.
fn training(folder: &Folder, options: &str) -> std::process::Child {
    let words = format!("{TRAIN} model --epochs 60 --patience 60 --checkpoint-every 0 {options}");
    let child = program(&folder.path(""))
        .args(words.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let began = Instant::now();
    while !folder.path("model.unfinished/checkpoint.safetensors").exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "no checkpoint after a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[cfg(unix)]
#[test]
fn an_interrupt_loses_nothing() {
    let folder = Folder::with_records(300);
    for signal in ["-INT", "-TERM"] {
        let child = training(&folder, "");
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill").success());
        let output = child.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        for part in [
            "stopping after this step",
            "nothing is lost",
            "--> model.unfinished/checkpoint.safetensors",
            "--resume",
        ] {
            assert!(told.contains(part), "no `{part}` in {told}");
        }
        std::fs::remove_dir_all(folder.path("model.unfinished")).expect("it goes");
    }
    let mut child = training(&folder, "");
    child.kill().expect("a kill");
    child.wait().expect("it ends");
    folder.run("generate model --records 5 --out new").refuses(&["not finished", "--resume"]);
    let train = format!("{TRAIN} model --epochs 60 --patience 60");
    folder.run(&train).refuses(&["a run that was stopped is in the way", "--resume", "--force"]);
    let other = format!("{TRAIN} model --epochs 59 --patience 60 --resume");
    folder.run(&other).refuses(&["other records, rules or settings", "help"]);
    let checkpoint = folder.path("model.unfinished/checkpoint.safetensors");
    let whole = std::fs::read(&checkpoint).expect("a checkpoint");
    std::fs::write(&checkpoint, &whole[..whole.len() / 2]).expect("half of it");
    folder.run(&format!("{train} --resume")).refuses(&[
        "cannot go on from",
        "--> model.unfinished/",
        "help",
    ]);
    let mut odd = whole.clone();
    let middle = odd.len() / 2;
    odd[middle] ^= 16;
    std::fs::write(&checkpoint, &odd).expect("a changed byte");
    folder.run(&format!("{train} --resume")).refuses(&["it is not as it was written", "help"]);
    std::fs::write(&checkpoint, &whole).expect("all of it");
    folder.run(&format!("{train} --resume")).exits(0);
    folder.run(&format!("{} --epochs 60 --patience 60", TRAIN.to_owned() + " whole")).exits(0);
    folder.same("model", "whole");
}

#[cfg(unix)]
#[test]
fn a_model_stays_until_the_next_is_complete() {
    let folder = Folder::with_records(300);
    let train = |out: &str| format!("{TRAIN} {out} --epochs 60 --patience 60");
    folder.run(&format!("{TRAIN} before --epochs 1")).exits(0);
    folder.run(&format!("{TRAIN} model --epochs 1")).exits(0);
    let mut child = training(&folder, "--force");
    child.kill().expect("a kill");
    child.wait().expect("it ends");
    folder.same("before", "model");
    folder.run("generate model --records 5 --out old.jsonl").exits(0);
    // To go on takes the same leave to replace it.
    let resume = format!("{} --resume", train("model"));
    folder.run(&resume).refuses(&["other records, rules or settings", "--> model", "--force"]);
    folder.run(&format!("{resume} --force")).exits(0);
    folder.run(&train("whole")).exits(0);
    folder.same("model", "whole");
    assert!(!folder.path("model.unfinished").exists());
    // Killed once the model was complete, and before it was in place.
    std::fs::rename(folder.path("model"), folder.path("model.unfinished")).expect("a move");
    folder.write("model.unfinished/checkpoint.safetensors", "");
    folder.run(&train("model")).refuses(&["a run that was stopped is in the way", "--resume"]);
    folder.run(&resume).exits(0).prints("it was finished before");
    folder.same("model", "whole");
    // Where older versions trained.
    std::fs::remove_file(folder.path("model/model.json")).expect("it goes");
    folder.write("model/checkpoint.safetensors", "");
    for old in [train("model"), resume] {
        folder.run(&old).refuses(&["an older version of this program", "--> model/checkpoint."]);
    }
    folder.run(&format!("{} --force", train("model"))).exits(0);
    folder.same("model", "whole");
}

#[cfg(unix)]
#[test]
fn an_interrupt_keeps_what_was_generated() {
    let folder = Folder::with_model();
    let generate = "generate model --records 30k --shard-records 1k --out";
    let child = program(&folder.path(""))
        .args(format!("{generate} new").split_whitespace())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let began = Instant::now();
    while !folder.path("new.unfinished/data/000000.parquet").exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "no data after a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("what was written is kept") && told.contains("--resume"), "{told}");
    folder.run(&format!("{generate} new --resume")).exits(0).prints(" were there already");
    folder.run(&format!("{generate} whole")).exits(0);
    folder.same("new", "whole");
}

/// The model is on a disk with room for one checkpoint and not for two.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_during_a_checkpoint() {
    const NO_DISK: i32 = 77;
    let folder = Folder::with_records(300);
    let train = format!("{TRAIN} whole --epochs 2");
    folder.run(&train).exits(0);
    // A checkpoint has the weights four times.
    let weights = std::fs::metadata(folder.path("whole/model.safetensors")).expect("weights").len();
    std::fs::create_dir(folder.path("small")).expect("a folder");
    let script = format!(
        "mount -t tmpfs -o size={} none small || exit {NO_DISK}\n\
         \"$0\" {TRAIN} small/model --epochs 2 --checkpoint-every 0 && exit 1\n\
         ls -A small/model.unfinished\nmount -o remount,size=64m small || exit {NO_DISK}\n\
         \"$0\" {TRAIN} small/model --epochs 2 --resume && diff -r small/model whole && exit 2",
        6 * weights
    );
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
    command.arg(env!("CARGO_BIN_EXE_consequence")).current_dir(folder.path(""));
    let ran = Ran::of(&mut command);
    if ran.code == NO_DISK || ran.err.contains("unshare") {
        eprintln!("SKIPPED: no disk can be made here");
        return;
    }
    let ran = ran.exits(2);
    for part in
        ["the disk is full", "--> small/model.unfinished/checkpoint.safetensors", "free some space"]
    {
        assert!(ran.err.contains(part), "no `{part}` in {}", ran.err);
    }
    assert!(ran.out.starts_with("checkpoint.safetensors\n"), "{}", ran.out);
}
