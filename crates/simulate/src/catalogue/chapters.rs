//! The bulk of the codes: what can happen, and where, chapter by chapter.
//!
//! A chapter has ten sites and ten findings. Each site is a category with a code of its own, and
//! each finding at a site is a code below it: `DX//eye//retina` and `DX//eye//retina//tear`.

use super::profile::Profile;

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
