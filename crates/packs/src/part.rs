//! Parts of a JSON document that know where they stand.

use serde_json::Value;

use crate::error::PackError;

/// A value, with the keys that lead to it.
#[derive(Clone, Debug)]
pub(crate) struct Part<'a> {
    pub file: &'a str,
    pub place: String,
    pub value: &'a Value,
}

impl<'a> Part<'a> {
    /// What is wrong with it.
    pub fn wrong(&self, what: impl Into<String>) -> PackError {
        let (file, place) = (self.file.to_owned(), self.place.clone());
        PackError::Part { file, place, what: what.into() }
    }

    fn inner(&self, key: &str, value: &'a Value) -> Self {
        let place = match self.place.as_str() {
            "" => key.to_owned(),
            place => format!("{place}.{key}"),
        };
        Self { file: self.file, place, value }
    }

    /// What a key says, if it says something.
    pub fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(self.inner(key, value))
    }

    /// What a key says that must be there.
    pub fn need(&self, key: &str) -> Result<Self, PackError> {
        self.get(key).ok_or_else(|| self.wrong(format!("no `{key}`")))
    }

    /// The members of a list; none where the key is not there.
    pub fn list(&self, key: &str) -> Result<Vec<Self>, PackError> {
        let Some(part) = self.get(key) else { return Ok(Vec::new()) };
        let Some(values) = part.value.as_array() else { return Err(part.wrong("expected a list")) };
        let member = |(index, value)| Part {
            file: part.file,
            place: format!("{}[{index}]", part.place),
            value,
        };
        Ok(values.iter().enumerate().map(member).collect())
    }

    /// The keys that say something: not null, not false, not empty.
    pub fn keys(&self) -> Result<Vec<(&'a str, Self)>, PackError> {
        let Some(entries) = self.value.as_object() else {
            return Err(self.wrong("expected an object"));
        };
        let says = |value: &Value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::Array(values) => !values.is_empty(),
            Value::Object(entries) => !entries.is_empty(),
            Value::String(text) => !text.is_empty(),
            _ => true,
        };
        let kept = entries.iter().filter(|(_, value)| says(value));
        Ok(kept.map(|(key, value)| (key.as_str(), self.inner(key, value))).collect())
    }

    pub fn text(&self) -> Result<&'a str, PackError> {
        self.value.as_str().ok_or_else(|| self.wrong("expected a text"))
    }

    pub fn whole(&self) -> Result<i64, PackError> {
        self.value.as_i64().ok_or_else(|| self.wrong("expected a whole number"))
    }

    pub fn number(&self) -> Result<f32, PackError> {
        let number = self.value.as_f64().map(|number| number as f32);
        number.filter(|number| number.is_finite()).ok_or_else(|| self.wrong("expected a number"))
    }

    /// A truth value; false where the key is not there.
    pub fn truth(&self, key: &str) -> Result<bool, PackError> {
        match self.get(key) {
            None => Ok(false),
            Some(part) => {
                part.value.as_bool().ok_or_else(|| part.wrong("expected `true` or `false`"))
            }
        }
    }
}
