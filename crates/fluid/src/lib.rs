//! fluid
