//! The place of one setting: what it takes, and how it shows. A place is a field, borrowed, with the rule for its values.

use std::ops::RangeInclusive;

use super::source::Written;
use super::value::Scalar;

/// The place of one setting.
pub(super) trait Slot {
    /// What fits, for messages.
    fn expected(&self) -> String;
    /// Takes the value, or leaves all as it was where it does not fit.
    fn accept(&mut self, written: &Written) -> Option<()>;
    /// The value as printed, none where it is not set.
    fn show(&self) -> Option<toml::Value>;
    /// Whether a value must not be shown.
    fn is_secret(&self) -> bool {
        false
    }
}

/// A field whose type says all about its values.
pub(super) struct Field<'a, S>(pub(super) &'a mut S);

impl<S: Slot> Slot for Field<'_, S> {
    fn expected(&self) -> String {
        self.0.expected()
    }
    fn accept(&mut self, written: &Written) -> Option<()> {
        self.0.accept(written)
    }
    fn show(&self) -> Option<toml::Value> {
        self.0.show()
    }
    fn is_secret(&self) -> bool {
        self.0.is_secret()
    }
}

impl Written {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Toml(value) => value.as_str(),
        }
    }
}

/// A setting that always has a value.
impl<T: Scalar> Slot for T {
    fn expected(&self) -> String {
        T::EXPECTED.to_owned()
    }
    fn accept(&mut self, written: &Written) -> Option<()> {
        *self = T::parse(written.as_text()?)?;
        Some(())
    }
    fn show(&self) -> Option<toml::Value> {
        Some(Scalar::show(self).into())
    }
    fn is_secret(&self) -> bool {
        T::SECRET
    }
}

/// A setting that may have none; an empty text is none, so that a variable can undo what a file sets.
impl<T: Scalar> Slot for Option<T> {
    fn expected(&self) -> String {
        T::EXPECTED.to_owned()
    }
    fn accept(&mut self, written: &Written) -> Option<()> {
        *self = match written.as_text()? {
            "" => None,
            text => Some(T::parse(text)?),
        };
        Some(())
    }
    fn show(&self) -> Option<toml::Value> {
        self.as_ref().map(|value| Scalar::show(value).into())
    }
    fn is_secret(&self) -> bool {
        T::SECRET
    }
}

/// A list: an array in a file, divided by commas in a variable.
impl<T: Scalar> Slot for Vec<T> {
    fn expected(&self) -> String {
        format!("a list (in a variable divided by commas), each {}", T::EXPECTED)
    }
    fn accept(&mut self, written: &Written) -> Option<()> {
        *self = match written {
            Written::Toml(value) => {
                value.as_array()?.iter().map(|item| T::parse(item.as_str()?)).collect::<Option<_>>()?
            }
            Written::Text(text) if text.trim().is_empty() => Vec::new(),
            Written::Text(text) => {
                text.split(',').map(|item| T::parse(item.trim())).collect::<Option<_>>()?
            }
        };
        Some(())
    }
    fn show(&self) -> Option<toml::Value> {
        let items = self.iter().map(|item| Scalar::show(item).into()).collect();
        Some(toml::Value::Array(items))
    }
    fn is_secret(&self) -> bool {
        T::SECRET
    }
}

impl Slot for bool {
    fn expected(&self) -> String {
        "true or false".to_owned()
    }
    fn accept(&mut self, written: &Written) -> Option<()> {
        *self = match written {
            Written::Toml(value) => value.as_bool()?,
            Written::Text(text) => text.parse().ok()?,
        };
        Some(())
    }
    fn show(&self) -> Option<toml::Value> {
        Some((*self).into())
    }
}

fn whole_number(written: &Written, range: &RangeInclusive<u64>) -> Option<u64> {
    let number = match written {
        Written::Toml(value) => u64::try_from(value.as_integer()?).ok()?,
        Written::Text(text) => text.parse().ok()?,
    };
    range.contains(&number).then_some(number)
}

fn shown(number: u64) -> toml::Value {
    i64::try_from(number).expect("a setting's largest number is far below 2^63").into()
}

/// A whole number within bounds.
pub(super) struct Within<'a>(pub(super) &'a mut u64, pub(super) RangeInclusive<u64>);

impl Slot for Within<'_> {
    fn expected(&self) -> String {
        format!("a whole number from {} to {}", self.1.start(), self.1.end())
    }
    fn accept(&mut self, written: &Written) -> Option<()> {
        *self.0 = whole_number(written, &self.1)?;
        Some(())
    }
    fn show(&self) -> Option<toml::Value> {
        Some(shown(*self.0))
    }
}

/// A limit; 0 is none.
pub(super) struct Limit<'a>(pub(super) &'a mut Option<u64>);

impl Limit<'_> {
    const RANGE: RangeInclusive<u64> = 0..=1_000_000_000;
}

impl Slot for Limit<'_> {
    fn expected(&self) -> String {
        format!("a whole number from 1 to {}, or 0 for no limit", Self::RANGE.end())
    }
    fn accept(&mut self, written: &Written) -> Option<()> {
        *self.0 = Some(whole_number(written, &Self::RANGE)?).filter(|number| *number != 0);
        Some(())
    }
    fn show(&self) -> Option<toml::Value> {
        Some(shown(self.0.unwrap_or(0)))
    }
}

/// A whole number that may be none, which is what an empty text says.
pub(super) struct Optional<'a>(pub(super) &'a mut Option<u64>);

impl Optional<'_> {
    /// As large as a number is that every reader of JSON and TOML has whole.
    const RANGE: RangeInclusive<u64> = 0..=(1 << 53);
}

impl Slot for Optional<'_> {
    fn expected(&self) -> String {
        format!("a whole number from 0 to {}", Self::RANGE.end())
    }
    fn accept(&mut self, written: &Written) -> Option<()> {
        *self.0 = match written.as_text() {
            Some("") => None,
            _ => Some(whole_number(written, &Self::RANGE)?),
        };
        Some(())
    }
    fn show(&self) -> Option<toml::Value> {
        self.0.map(shown)
    }
}
