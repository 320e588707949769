//! The bulk of the codes: what can happen, and where, chapter by chapter.
//!
//! A chapter has ten sites and ten findings. Each site is a category with a code of its own, and
//! each finding at a site is a code below it: `DX//eye//retina` and `DX//eye//retina//tear`.
//!
//! A cluster is a few chronic diseases that come together, and a profile says who has a code more
//! often, by age.

use self::Profile::{Adult, Flat, Old, Young};

/// One chapter of diagnoses.
pub struct Chapter {
    /// The second part of its codes' names.
    pub name: &'static str,
    /// How a title joins a finding and a site.
    pub joint: Joint,
    /// Who has its codes more often.
    pub profile: Profile,
    /// How much more often women have them; men have them as much less often.
    pub women: f64,
    /// The sites, or the causes.
    pub sites: [&'static str; 10],
    /// The findings.
    pub findings: [&'static str; 10],
}

/// How a title is put together.
#[derive(Clone, Copy)]
pub enum Joint {
    /// "Tear of retina".
    Of,
    /// "Influenza pneumonia".
    After,
}

/// All chapters that are filled from sites and findings.
#[rustfmt::skip]
pub const CHAPTERS: [Chapter; 16] = [
    Chapter { name: "infectious", joint: Joint::After, profile: Profile::Young, women: 1.0,
        sites: ["staphylococcal", "streptococcal", "coliform", "fungal", "herpes", "influenza", "tuberculous", "parasitic", "tick-borne", "clostridial"],
        findings: ["sepsis", "pneumonia", "wound-infection", "carrier-state", "meningitis", "enteritis", "skin-infection", "joint-infection", "exposure", "resistant-strain"] },
    Chapter { name: "neoplasms", joint: Joint::Of, profile: Profile::Old, women: 1.0,
        sites: ["colon", "lung", "breast", "kidney", "bladder", "pancreas", "thyroid", "larynx", "stomach", "brain"],
        findings: ["benign-growth", "carcinoma-in-situ", "early-cancer", "advanced-cancer", "secondary-growth", "uncertain-growth", "polyp", "cyst", "recurrence", "family-history"] },
    Chapter { name: "endocrine", joint: Joint::Of, profile: Profile::Adult, women: 1.2,
        sites: ["thyroid", "parathyroid", "pituitary", "adrenal", "pancreatic-islet", "sodium-balance", "potassium-balance", "calcium-balance", "lipid-metabolism", "nutrition"],
        findings: ["deficiency", "excess", "nodule", "inflammation", "crisis", "acquired-disorder", "inherited-disorder", "drug-induced-disorder", "postoperative-disorder", "monitoring"] },
    Chapter { name: "blood", joint: Joint::Of, profile: Profile::Flat, women: 1.1,
        sites: ["red-cells", "white-cells", "platelets", "clotting-factors", "spleen", "bone-marrow", "iron-stores", "lymph-nodes", "plasma-proteins", "hemoglobin"],
        findings: ["shortage", "surplus", "acute-loss", "destruction", "inherited-defect", "drug-effect", "enlargement", "malignant-change", "transfusion-reaction", "abnormal-result"] },
    Chapter { name: "mental", joint: Joint::Of, profile: Profile::Adult, women: 1.1,
        sites: ["mood", "sleep", "eating", "attention", "memory", "personality", "impulse-control", "adjustment", "perception", "development"],
        findings: ["mild-disturbance", "moderate-disturbance", "severe-disturbance", "recurrent-episode", "single-episode", "remission", "substance-effect", "stress-reaction", "late-onset", "observation"] },
    Chapter { name: "nervous", joint: Joint::Of, profile: Profile::Old, women: 1.0,
        sites: ["cortex", "cerebellum", "spinal-cord", "cranial-nerve", "peripheral-nerve", "facial-nerve", "median-nerve", "sciatic-nerve", "autonomic-system", "meninges"],
        findings: ["compression", "degeneration", "inflammation", "hemorrhage", "infarction", "palsy", "pain-syndrome", "tremor", "abscess", "injury-sequela"] },
    Chapter { name: "eye", joint: Joint::Of, profile: Profile::Old, women: 1.0,
        sites: ["retina", "cornea", "lens", "optic-nerve", "eyelid", "conjunctiva", "iris", "orbit", "tear-duct", "vitreous"],
        findings: ["tear", "opacity", "inflammation", "infection", "degeneration", "bleeding", "pressure-damage", "foreign-body", "refraction-change", "screening"] },
    Chapter { name: "ear", joint: Joint::Of, profile: Profile::Young, women: 1.0,
        sites: ["outer-ear", "middle-ear", "inner-ear", "eardrum", "mastoid", "hearing-nerve", "eustachian-tube", "ear-canal", "nasal-septum", "sinus"],
        findings: ["infection", "perforation", "obstruction", "effusion", "ringing", "hearing-loss", "dizziness", "growth", "deviation", "pain"] },
    Chapter { name: "circulatory", joint: Joint::Of, profile: Profile::Old, women: 0.9,
        sites: ["aorta", "mitral-valve", "aortic-valve", "carotid-artery", "leg-artery", "deep-vein", "pulmonary-artery", "pericardium", "conduction-system", "cerebral-artery"],
        findings: ["stenosis", "aneurysm", "thrombosis", "insufficiency", "inflammation", "embolism", "dissection", "calcification", "spasm", "device-complication"] },
    Chapter { name: "respiratory", joint: Joint::Of, profile: Profile::Young, women: 1.0,
        sites: ["upper-airway", "bronchus", "alveoli", "pleura", "trachea", "tonsil", "larynx", "diaphragm", "lung-lobe", "nasal-passage"],
        findings: ["acute-infection", "chronic-infection", "effusion", "collapse", "fibrosis", "edema", "abscess", "spasm", "aspiration", "hemorrhage"] },
    Chapter { name: "digestive", joint: Joint::Of, profile: Profile::Adult, women: 1.0,
        sites: ["esophagus", "stomach", "duodenum", "small-bowel", "colon", "rectum", "gallbladder", "bile-duct", "pancreas", "teeth"],
        findings: ["ulcer", "inflammation", "obstruction", "bleeding", "perforation", "reflux", "stone", "hernia", "malabsorption", "fistula"] },
    Chapter { name: "genitourinary", joint: Joint::Of, profile: Profile::Adult, women: 1.1,
        sites: ["kidney", "ureter", "bladder", "urethra", "renal-artery", "glomerulus", "tubule", "pelvis", "breast-tissue", "urine"],
        findings: ["infection", "stone", "obstruction", "acute-failure", "cyst", "scarring", "bleeding", "incontinence", "protein-loss", "catheter-complication"] },
    Chapter { name: "skin", joint: Joint::Of, profile: Profile::Flat, women: 1.0,
        sites: ["scalp", "face", "trunk", "arm", "hand", "leg", "foot", "nail", "hair", "sweat-gland"],
        findings: ["dermatitis", "cellulitis", "ulcer", "wart", "rash", "scar", "abscess", "keratosis", "itching", "pigment-change"] },
    Chapter { name: "musculoskeletal", joint: Joint::Of, profile: Profile::Old, women: 1.1,
        sites: ["neck", "lower-back", "shoulder", "elbow", "wrist", "hip", "knee", "ankle", "jaw", "rib-cage"],
        findings: ["pain", "stiffness", "arthritis", "tendonitis", "bursitis", "instability", "deformity", "stress-fracture", "spasm", "implant-complication"] },
    Chapter { name: "congenital", joint: Joint::Of, profile: Profile::Young, women: 1.0,
        sites: ["heart-septum", "great-vessels", "palate", "kidney", "limb", "hip", "skull", "intestine", "eye", "chromosome"],
        findings: ["absence", "narrowing", "duplication", "displacement", "cleft", "fusion", "repaired-defect", "partial-defect", "minor-anomaly", "carrier"] },
    Chapter { name: "injury", joint: Joint::Of, profile: Profile::Young, women: 0.9,
        sites: ["head", "face", "neck", "chest", "abdomen", "spine", "shoulder", "forearm", "thigh", "lower-leg"],
        findings: ["contusion", "open-wound", "sprain", "burn", "crush-injury", "closed-break", "open-break", "nerve-injury", "vessel-injury", "late-effect"] },
];

/// A cluster: chronic diseases at its core, and what they bring from one chapter.
pub struct Cluster {
    /// The chronic diseases at the core.
    pub cores: [&'static str; 2],
    /// The chapter whose codes become more frequent.
    pub chapter: &'static str,
    /// How common the cluster is, relative to the others.
    pub weight: f64,
    /// At which age.
    pub profile: Profile,
    /// How much more often in women; in men it is as much less often.
    pub women: f64,
}

const fn cluster(
    cores: [&'static str; 2],
    chapter: &'static str,
    weight: f64,
    profile: Profile,
    women: f64,
) -> Cluster {
    Cluster { cores, chapter, weight, profile, women }
}

/// All clusters.
#[rustfmt::skip]
pub const CLUSTERS: [Cluster; 17] = [
    cluster(["DX//circulatory//hypertension", "DX//circulatory//coronary-disease"], "circulatory", 3.0, Old, 0.9),
    cluster(["DX//circulatory//heart-failure", "DX//circulatory//atrial-fibrillation"], "circulatory", 2.0, Old, 0.9),
    cluster(["DX//endocrine//type-2-diabetes", "DX//endocrine//high-cholesterol"], "endocrine", 2.5, Old, 1.0),
    cluster(["DX//genitourinary//chronic-kidney-disease", "DX//blood//anemia-of-kidney-disease"], "genitourinary", 1.2, Old, 1.0),
    cluster(["DX//respiratory//copd", "DX//mental//tobacco-dependence"], "respiratory", 1.5, Old, 0.9),
    cluster(["DX//respiratory//asthma", "DX//respiratory//allergic-rhinitis"], "ear", 1.5, Young, 1.1),
    cluster(["DX//mental//depression", "DX//mental//anxiety"], "mental", 1.8, Adult, 1.3),
    cluster(["DX//mental//alcohol-dependence", "DX//mental//opioid-dependence"], "injury", 1.0, Adult, 0.7),
    cluster(["DX//mental//dementia", "DX//nervous//gait-disorder"], "nervous", 1.0, Old, 1.1),
    cluster(["DX//neoplasms//active-treatment", "DX//blood//low-white-cells"], "neoplasms", 1.2, Old, 1.0),
    cluster(["DX//digestive//cirrhosis", "DX//infectious//viral-hepatitis"], "digestive", 1.0, Adult, 0.8),
    cluster(["DX//musculoskeletal//osteoarthritis", "DX//musculoskeletal//back-pain"], "musculoskeletal", 1.5, Old, 1.1),
    cluster(["DX//endocrine//hypothyroidism", "DX//musculoskeletal//osteoporosis"], "blood", 1.0, Old, 1.5),
    cluster(["DX//nervous//epilepsy", "DX//nervous//migraine"], "nervous", 0.8, Flat, 1.2),
    cluster(["DX//musculoskeletal//rheumatoid-arthritis", "DX//skin//psoriasis"], "infectious", 0.8, Adult, 1.2),
    cluster(["DX//eye//glaucoma", "DX//eye//cataract"], "eye", 0.8, Old, 1.0),
    cluster(["DX//skin//eczema", "DX//mental//attention-deficit"], "skin", 1.0, Young, 0.9),
];

/// A stage of life. An age band of a preset stands for one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Up to 17.
    Child,
    /// From 18 to the middle thirties or forties.
    Young,
    /// The years between.
    Middle,
    /// Up to 64.
    Older,
    /// 65 and over.
    Senior,
}

/// How the frequency of a code goes with age.
///
/// No factor is zero: only a planted rule keeps a code out of an age band altogether.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The same at every age.
    Flat,
    /// Falls with age.
    Young,
    /// Highest in the middle.
    Adult,
    /// Rises with age.
    Old,
}

impl Profile {
    /// The factor of the frequency at a stage of life, 1 where it is not known.
    pub fn factor(self, stage: Option<Stage>) -> f64 {
        let Some(stage) = stage else { return 1.0 };
        let factors = match self {
            Self::Flat => [1.0; 5],
            Self::Young => [1.9, 1.3, 0.9, 0.8, 0.6],
            Self::Adult => [0.4, 1.3, 1.4, 1.2, 0.8],
            Self::Old => [0.3, 0.5, 0.8, 1.3, 1.8],
        };
        factors[stage as usize]
    }
}
