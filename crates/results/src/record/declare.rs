//! Declaration of records: from one line per column, `record!` generates the record's field, the column of the file,
//! the reader and the digest.

/// Declares a record and its tables.
///
/// ```text
/// record! {
///     /// Documentation.
///     pub struct Record {
///         /// Meaning, with its unit: documentation of the field and of its column.
///         field: Type,
///         /// Column with another name, called `former` in older files.
///         field: Type as "name" or "former",
///         /// Column in another representation than its type's: see `cell.rs`.
///         field: Type [Form],
///     }
///     derived(record) {
///         /// Column that is computed from the record and never read.
///         column: Type = record.method(),
///     }
///     /// Documentation.
///     pub const TABLE = "file", "description of a row": [columns in the file's order, by field or derived name];
/// }
/// ```
///
/// The digest takes the fields in the order of their declaration. The compiler reports a column that no table lists as
/// dead code.
macro_rules! record {
    (
        $(#[$attribute:meta])*
        pub struct $record:ident {
            $(
                $(#[doc = $meaning:literal])+
                $field:ident: $type:ty $([$form:ident])? $(as $name:literal $(or $former:literal)?)?,
            )+
        }
        derived($of:ident) {
            $(
                $(#[doc = $derived_meaning:literal])+
                $derived:ident: $derived_type:ty $(as $derived_name:literal)? = $value:expr,
            )*
        }
        $(
            $(#[$table_attribute:meta])*
            pub const $table:ident = $file:literal, $row:literal: [$($column:ident),+ $(,)?];
        )+
    ) => {
        $(#[$attribute])*
        pub struct $record {
            $($(#[doc = $meaning])+ pub $field: $type,)+
        }

        impl $crate::record::Record for $record {
            const STORED: &'static [$crate::record::Stored] = &[$($crate::record::Stored {
                name: record!(@name $field $($name)?),
                former: record!(@former $($($former)?)?),
            }),+];

            fn read(
                context: &$crate::schema::Context<'_>,
                row: &mut impl $crate::record::Row,
            ) -> Result<Self, String> {
                Ok(Self {
                    $($field: row.next(|value| {
                        <record!(@form $($form)?) as $crate::record::cell::Form<$type>>::read(context, value)
                    })?,)+
                })
            }
        }

        impl $crate::digest::Digested for $record {
            fn digest(&self, lanes: &mut $crate::digest::Lanes) {
                $($crate::record::cell::Field::digest(&self.$field, lanes);)+
            }
        }

        $(
            const fn $field() -> $crate::schema::Column<$record> {
                use $crate::record::cell::Form;
                type Of = record!(@form $($form)?);
                $crate::schema::Column {
                    name: record!(@name $field $($name)?),
                    kind: <Of as Form<$type>>::KIND,
                    nullable: <Of as Form<$type>>::NULLABLE,
                    meaning: concat!($($meaning),+).trim_ascii_start(),
                    value: |context, record| <Of as Form<$type>>::value(context, &record.$field),
                }
            }
        )+

        $(
            const fn $derived() -> $crate::schema::Column<$record> {
                use $crate::record::cell::Typed;
                $crate::schema::Column {
                    name: record!(@name $derived $($derived_name)?),
                    kind: <$derived_type as Typed>::KIND,
                    nullable: <$derived_type as Typed>::NULLABLE,
                    meaning: concat!($($derived_meaning),+).trim_ascii_start(),
                    value: |_, $of| {
                        let value: $derived_type = $value;
                        value.into()
                    },
                }
            }
        )*

        $(
            $(#[$table_attribute])*
            pub const $table: $crate::schema::Table<$record> = $crate::schema::Table {
                name: $file,
                row: $row,
                columns: &[
                    $crate::schema::transport(),
                    $crate::schema::run(),
                    $($column()),+
                ],
            };
        )+
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    (@former) => { None };
    (@former $former:literal) => { Some($former) };
    (@form) => { $crate::record::cell::Plain };
    (@form $form:ident) => { $crate::record::cell::$form };
}
