//! The rules planted in the built-in cohorts, by name of code.
//!
//! They are chosen to stand apart: what makes another code possible in [`ONLY_AFTER`] is not
//! lifelong, brings no other code and comes in every group, so that no two rules chain over time.
//! The rules that a search finds in a cohort are then these, or follow from them within a visit.

/// A part of the patients, by demographic code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Women,
    Men,
    /// The first age band.
    Children,
    /// The second age band.
    Young,
    /// The last age band.
    Seniors,
    /// Every age band but the first: a rule for each.
    Grown,
}

/// Codes that never appear in a group.
pub(crate) const NEVER: &[(Group, &str)] = &[
    (Group::Men, "DX//pregnancy//supervision"),
    (Group::Men, "DX//pregnancy//delivery"),
    (Group::Men, "DX//pregnancy//gestational-diabetes"),
    (Group::Men, "DX//genitourinary//ovarian-cyst"),
    (Group::Men, "DX//neoplasms//uterine-fibroids"),
    (Group::Men, "DX//genitourinary//endometriosis"),
    (Group::Women, "DX//genitourinary//prostate-enlargement"),
    (Group::Women, "DX//neoplasms//prostate-cancer"),
    (Group::Women, "DX//genitourinary//testicular-disorder"),
    (Group::Women, "DX//genitourinary//hydrocele"),
    (Group::Seniors, "DX//pregnancy//supervision"),
    (Group::Seniors, "DX//pregnancy//delivery"),
    (Group::Seniors, "DX//pregnancy//gestational-diabetes"),
    (Group::Children, "DX//circulatory//hypertension"),
    (Group::Children, "DX//circulatory//coronary-disease"),
    (Group::Children, "DX//respiratory//copd"),
    (Group::Children, "DX//mental//dementia"),
    (Group::Children, "DX//musculoskeletal//osteoporosis"),
    (Group::Children, "DX//genitourinary//prostate-enlargement"),
    (Group::Children, "DX//eye//cataract"),
    (Group::Young, "DX//mental//dementia"),
    (Group::Young, "DX//musculoskeletal//osteoporosis"),
    (Group::Seniors, "DX//mental//attention-deficit"),
    (Group::Grown, "DX//perinatal//jaundice"),
    (Group::Grown, "DX//perinatal//respiratory-distress"),
    (Group::Grown, "DX//perinatal//prematurity"),
];

/// Pairs of which the first code never comes without the second.
pub(crate) const TOGETHER: &[(&str, &str)] = &[
    ("DX//circulatory//hypertension//crisis", "DX//circulatory//hypertension"),
    ("DX//circulatory//heart-failure//acute", "DX//circulatory//heart-failure"),
    ("DX//endocrine//type-2-diabetes//ketoacidosis", "DX//endocrine//type-2-diabetes"),
    ("DX//endocrine//type-2-diabetes//retinopathy", "DX//endocrine//type-2-diabetes"),
    ("DX//respiratory//copd//exacerbation", "DX//respiratory//copd"),
    ("DX//digestive//cirrhosis//ascites", "DX//digestive//cirrhosis"),
    ("DX//neoplasms//prostate-cancer//metastatic", "DX//neoplasms//prostate-cancer"),
    ("DX//blood//sickle-cell-disease//crisis", "DX//blood//sickle-cell-disease"),
    ("PROC//chemotherapy", "DX//neoplasms//active-treatment"),
    ("PROC//mechanical-ventilation", "DX//respiratory//respiratory-failure"),
    ("PROC//cast", "DX//injury//fracture-care"),
    ("RX//insulin-pump", "PROC//glucose-monitoring"),
];

/// A code that comes only after another.
pub(crate) struct OnlyAfter {
    pub later: &'static str,
    pub first: &'static str,
    /// How often it then comes in an encounter, in the inpatient and the outpatient preset.
    pub probabilities: [f64; 2],
}

/// Codes that never come before another has been seen.
#[rustfmt::skip]
pub(crate) const ONLY_AFTER: &[OnlyAfter] = &[
    OnlyAfter { later: "DX//nervous//stroke-sequelae", first: "DX//circulatory//stroke", probabilities: [0.35, 0.040] },
    OnlyAfter { later: "PROC//cardiac-rehabilitation", first: "DX//circulatory//heart-attack", probabilities: [0.30, 0.030] },
    OnlyAfter { later: "PROC//transplant-follow-up", first: "PROC//kidney-transplant", probabilities: [0.40, 0.080] },
    OnlyAfter { later: "PROC//pacemaker-check", first: "PROC//pacemaker", probabilities: [0.40, 0.050] },
    OnlyAfter { later: "DX//genitourinary//diabetic-kidney-disease", first: "DX//endocrine//type-2-diabetes", probabilities: [0.15, 0.020] },
    OnlyAfter { later: "DX//respiratory//oxygen-dependence", first: "DX//respiratory//respiratory-failure", probabilities: [0.20, 0.080] },
    OnlyAfter { later: "DX//neoplasms//remission", first: "DX//neoplasms//active-treatment", probabilities: [0.20, 0.020] },
];

/// Codes that stay once they have come.
pub(crate) const LIFELONG: &[&str] = &[
    "DX//congenital//spina-bifida",
    "DX//congenital//down-syndrome",
    "DX//blood//sickle-cell-disease",
    "DX//nervous//multiple-sclerosis",
    "DX//nervous//cerebral-palsy",
    "DX//infectious//hiv",
    "DX//endocrine//type-1-diabetes",
    "DX//respiratory//cystic-fibrosis",
];

/// A sign that, after a disease, always has a consequence in the same visit.
pub(crate) struct AfterDisease {
    pub disease: &'static str,
    /// Only so many visits back, if said.
    pub within: Option<u16>,
    pub sign: &'static str,
    pub consequence: &'static str,
}

/// Two literals, one of them in the past.
pub(crate) const AFTER_DISEASE: &[AfterDisease] = &[
    AfterDisease {
        disease: "DX//endocrine//type-2-diabetes",
        within: None,
        sign: "SYM//numb-feet",
        consequence: "DX//nervous//neuropathy",
    },
    AfterDisease {
        disease: "DX//circulatory//heart-failure",
        within: None,
        sign: "SYM//leg-swelling",
        consequence: "RX//diuretic",
    },
    AfterDisease {
        disease: "DX//respiratory//asthma",
        within: Some(3),
        sign: "SYM//wheezing",
        consequence: "RX//inhaler",
    },
];

/// Codes of which a visit has at most one, beside the outcomes of the preset.
pub(crate) const EXCLUSIVE: &[(&str, &[&str])] = &[
    ("one-body-weight", &["BMI//underweight", "BMI//overweight", "BMI//obese"]),
    (
        "one-kidney-stage",
        &[
            "DX//genitourinary//kidney-stage-3",
            "DX//genitourinary//kidney-stage-4",
            "DX//genitourinary//kidney-stage-5",
        ],
    ),
];

/// Codes that come both or neither.
pub(crate) const EQUIVALENT: &[(&str, &str)] = &[
    ("PROC//dialysis", "DX//genitourinary//dialysis-status"),
    ("PROC//intubation", "RX//sedation"),
];

/// Codes that stay below the paper's cut-offs in a cohort of full size, by preset.
pub(crate) const SCARCE: [&[&str]; 2] =
    [&["DX//genitourinary//endometriosis", "DX//genitourinary//hydrocele"], &[]];
