//! Codes with a name and a frequency of their own: those the rules speak of, and chronic diseases.

use super::chapters::Profile::{self, Adult, Flat, Old, Young};

/// A code given by hand.
pub struct Notable {
    /// The code's name.
    pub name: &'static str,
    /// What it means.
    pub title: &'static str,
    /// How often it comes by itself: times an encounter, in the inpatient and the outpatient
    /// preset. Codes that only come with others have 0.
    pub rates: [f64; 2],
    /// Who has it more often.
    pub profile: Profile,
}

const fn code(
    name: &'static str,
    title: &'static str,
    inpatient: f64,
    outpatient: f64,
    profile: Profile,
) -> Notable {
    Notable { name, title, rates: [inpatient, outpatient], profile }
}

/// The codes given by hand, for both presets.
#[rustfmt::skip]
pub const NOTABLE: &[Notable] = &[
    // Chronic diseases: the cores of the clusters.
    code("DX//circulatory//hypertension", "Essential hypertension", 0.06, 0.006, Old),
    code("DX//circulatory//coronary-disease", "Coronary artery disease", 0.04, 0.002, Old),
    code("DX//circulatory//heart-failure", "Heart failure", 0.03, 0.0015, Old),
    code("DX//circulatory//atrial-fibrillation", "Atrial fibrillation", 0.04, 0.0015, Old),
    code("DX//endocrine//type-2-diabetes", "Type 2 diabetes", 0.03, 0.003, Old),
    code("DX//endocrine//high-cholesterol", "High cholesterol", 0.04, 0.004, Old),
    code("DX//genitourinary//chronic-kidney-disease", "Chronic kidney disease", 0.02, 0.001, Old),
    code("DX//blood//anemia-of-kidney-disease", "Anemia of kidney disease", 0.015, 0.0006, Old),
    code("DX//respiratory//copd", "Chronic obstructive lung disease", 0.02, 0.0015, Old),
    code("DX//mental//tobacco-dependence", "Tobacco dependence", 0.03, 0.003, Adult),
    code("DX//respiratory//asthma", "Asthma", 0.02, 0.003, Young),
    code("DX//respiratory//allergic-rhinitis", "Allergic rhinitis", 0.01, 0.004, Young),
    code("DX//mental//depression", "Depression", 0.03, 0.004, Adult),
    code("DX//mental//anxiety", "Anxiety disorder", 0.02, 0.004, Adult),
    code("DX//mental//alcohol-dependence", "Alcohol dependence", 0.02, 0.001, Adult),
    code("DX//mental//opioid-dependence", "Opioid dependence", 0.01, 0.0006, Adult),
    code("DX//mental//dementia", "Dementia", 0.02, 0.0008, Old),
    code("DX//nervous//gait-disorder", "Disorder of gait", 0.02, 0.0015, Old),
    code("DX//neoplasms//active-treatment", "Cancer under active treatment", 0.03, 0.0015, Old),
    code("DX//blood//low-white-cells", "Low white cell count", 0.02, 0.0008, Flat),
    code("DX//digestive//cirrhosis", "Cirrhosis of the liver", 0.015, 0.0006, Adult),
    code("DX//infectious//viral-hepatitis", "Chronic viral hepatitis", 0.01, 0.0006, Adult),
    code("DX//musculoskeletal//osteoarthritis", "Osteoarthritis", 0.02, 0.004, Old),
    code("DX//musculoskeletal//back-pain", "Chronic back pain", 0.02, 0.006, Adult),
    code("DX//endocrine//hypothyroidism", "Hypothyroidism", 0.02, 0.002, Old),
    code("DX//musculoskeletal//osteoporosis", "Osteoporosis", 0.02, 0.0015, Old),
    code("DX//nervous//epilepsy", "Epilepsy", 0.015, 0.001, Flat),
    code("DX//nervous//migraine", "Migraine", 0.01, 0.002, Adult),
    code("DX//musculoskeletal//rheumatoid-arthritis", "Rheumatoid arthritis", 0.01, 0.0008, Adult),
    code("DX//skin//psoriasis", "Psoriasis", 0.008, 0.001, Adult),
    code("DX//eye//glaucoma", "Glaucoma", 0.01, 0.002, Old),
    code("DX//eye//cataract", "Cataract", 0.01, 0.002, Old),
    code("DX//skin//eczema", "Eczema", 0.008, 0.002, Young),
    code("DX//mental//attention-deficit", "Attention deficit disorder", 0.005, 0.002, Young),
    // Of one sex, or of one time of life.
    code("DX//pregnancy//supervision", "Supervision of pregnancy", 0.42, 0.050, Adult),
    code("DX//pregnancy//delivery", "Delivery", 0.30, 0.012, Adult),
    code("DX//pregnancy//gestational-diabetes", "Gestational diabetes", 0.12, 0.006, Adult),
    code("DX//genitourinary//ovarian-cyst", "Ovarian cyst", 0.16, 0.006, Adult),
    code("DX//neoplasms//uterine-fibroids", "Uterine fibroids", 0.05, 0.003, Adult),
    code("DX//genitourinary//endometriosis", "Endometriosis", 0.010, 0.0008, Adult),
    code("DX//genitourinary//prostate-enlargement", "Enlarged prostate", 0.20, 0.020, Old),
    code("DX//neoplasms//prostate-cancer", "Prostate cancer", 0.14, 0.006, Old),
    code("DX//genitourinary//testicular-disorder", "Disorder of the testis", 0.05, 0.003, Young),
    code("DX//genitourinary//hydrocele", "Hydrocele", 0.010, 0.0008, Flat),
    code("DX//perinatal//jaundice", "Neonatal jaundice", 0.55, 0.040, Flat),
    code("DX//perinatal//respiratory-distress", "Respiratory distress of the newborn", 0.35, 0.016, Flat),
    code("DX//perinatal//prematurity", "Prematurity", 0.12, 0.006, Flat),
    // Lifelong.
    code("DX//congenital//spina-bifida", "Spina bifida", 0.003, 0.00025, Flat),
    code("DX//congenital//down-syndrome", "Down syndrome", 0.008, 0.00040, Flat),
    code("DX//blood//sickle-cell-disease", "Sickle cell disease", 0.005, 0.00030, Flat),
    code("DX//nervous//multiple-sclerosis", "Multiple sclerosis", 0.010, 0.00050, Flat),
    code("DX//nervous//cerebral-palsy", "Cerebral palsy", 0.015, 0.00040, Flat),
    code("DX//infectious//hiv", "HIV disease", 0.020, 0.00060, Flat),
    code("DX//endocrine//type-1-diabetes", "Type 1 diabetes", 0.030, 0.00070, Flat),
    code("DX//respiratory//cystic-fibrosis", "Cystic fibrosis", 0.001, 0.00020, Flat),
    // Never without their companions.
    code("DX//circulatory//hypertension//crisis", "Hypertensive crisis", 0.015, 0.0010, Flat),
    code("DX//circulatory//heart-failure//acute", "Acute heart failure", 0.050, 0.0020, Flat),
    code("DX//endocrine//type-2-diabetes//ketoacidosis", "Type 2 diabetes with ketoacidosis", 0.015, 0.0006, Flat),
    code("DX//endocrine//type-2-diabetes//retinopathy", "Type 2 diabetes with retinopathy", 0.030, 0.0030, Flat),
    code("DX//respiratory//copd//exacerbation", "Exacerbation of lung disease", 0.040, 0.0025, Flat),
    code("DX//digestive//cirrhosis//ascites", "Cirrhosis with ascites", 0.020, 0.0006, Flat),
    code("DX//neoplasms//prostate-cancer//metastatic", "Metastatic prostate cancer", 0.008, 0.0006, Flat),
    code("DX//blood//sickle-cell-disease//crisis", "Sickle cell crisis", 0.003, 0.00006, Flat),
    code("PROC//chemotherapy", "Chemotherapy", 0.030, 0.0025, Flat),
    code("PROC//mechanical-ventilation", "Mechanical ventilation", 0.070, 0.0004, Flat),
    code("PROC//cast", "Application of a cast", 0.020, 0.0030, Flat),
    code("RX//insulin-pump", "Insulin pump", 0.006, 0.0006, Flat),
    code("DX//respiratory//respiratory-failure", "Respiratory failure", 0.050, 0.0006, Flat),
    code("DX//injury//fracture-care", "Care of a fracture", 0.030, 0.0040, Flat),
    code("PROC//glucose-monitoring", "Continuous glucose monitoring", 0.012, 0.0020, Flat),
    // Always both or neither.
    code("PROC//dialysis", "Dialysis", 0.030, 0.0015, Flat),
    code("DX//genitourinary//dialysis-status", "Dependence on dialysis", 0.010, 0.0010, Flat),
    code("PROC//intubation", "Intubation", 0.040, 0.0003, Flat),
    code("RX//sedation", "Continuous sedation", 0.020, 0.0003, Flat),
    // What makes later codes possible, and those codes, which come no other way.
    code("DX//circulatory//stroke", "Stroke", 0.060, 0.0030, Old),
    code("DX//nervous//stroke-sequelae", "Late effects of stroke", 0.0, 0.0, Flat),
    code("DX//circulatory//heart-attack", "Heart attack", 0.080, 0.0030, Old),
    code("PROC//cardiac-rehabilitation", "Cardiac rehabilitation", 0.0, 0.0, Flat),
    code("PROC//kidney-transplant", "Kidney transplant", 0.012, 0.0005, Flat),
    code("PROC//transplant-follow-up", "Follow-up after transplant", 0.0, 0.0, Flat),
    code("PROC//pacemaker", "Implantation of a pacemaker", 0.040, 0.0012, Old),
    code("PROC//pacemaker-check", "Check of a pacemaker", 0.0, 0.0, Flat),
    code("DX//genitourinary//diabetic-kidney-disease", "Diabetic kidney disease", 0.0, 0.0, Flat),
    code("DX//respiratory//oxygen-dependence", "Dependence on oxygen", 0.0, 0.0, Flat),
    code("DX//neoplasms//remission", "Cancer in remission", 0.0, 0.0, Flat),
    // Signs that mean more after a disease, and what follows.
    code("SYM//numb-feet", "Numbness of the feet", 0.060, 0.0060, Flat),
    code("DX//nervous//neuropathy", "Neuropathy", 0.030, 0.0030, Old),
    code("SYM//leg-swelling", "Swelling of the legs", 0.070, 0.0060, Flat),
    code("RX//diuretic", "Diuretic", 0.090, 0.0080, Old),
    code("SYM//wheezing", "Wheezing", 0.050, 0.0060, Flat),
    code("RX//inhaler", "Inhaler", 0.050, 0.0080, Young),
    // One at a time.
    code("BMI//underweight", "Underweight", 0.040, 0.0040, Flat),
    code("BMI//overweight", "Overweight", 0.070, 0.0120, Adult),
    code("BMI//obese", "Obesity", 0.080, 0.0150, Adult),
    code("DX//genitourinary//kidney-stage-3", "Kidney disease, stage 3", 0.030, 0.0020, Old),
    code("DX//genitourinary//kidney-stage-4", "Kidney disease, stage 4", 0.025, 0.0012, Old),
    code("DX//genitourinary//kidney-stage-5", "Kidney disease, stage 5", 0.020, 0.0008, Old),
];

/// How an encounter of a preset can end otherwise than at home.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The code's name.
    pub name: &'static str,
    /// What it means.
    pub title: &'static str,
    /// How often, at every age alike. Death goes by age, and has 0 here.
    pub rate: f64,
}

const fn outcome(name: &'static str, title: &'static str, rate: f64) -> Outcome {
    Outcome { name, title, rate }
}

/// Ways out of a hospital stay. The first is death.
pub const INPATIENT_OUTCOMES: &[Outcome] = &[
    outcome("DISCHARGE//EXPIRED", "Died in hospital", 0.0),
    outcome("DISCHARGE//FACILITY", "Discharged to a nursing facility", 0.17),
    outcome("DISCHARGE//TRANSFER", "Transferred to another hospital", 0.08),
    outcome("DISCHARGE//AGAINST-ADVICE", "Left against advice", 0.012),
];

/// Ways out of a visit to a doctor. The first is death.
pub const OUTPATIENT_OUTCOMES: &[Outcome] = &[
    outcome("STATUS//DECEASED", "Died", 0.0),
    outcome("STATUS//HOSPITALIZED", "Sent to hospital", 0.004),
    outcome("STATUS//HOSPICE", "Sent to hospice", 0.001),
];
