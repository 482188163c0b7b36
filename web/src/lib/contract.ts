// The words of the hub, as generated from its Rust types. Nothing is copied.
export type * from "../../../crates/longshore-facades/contract/calls.ts";
export type * from "../../../crates/longshore-model/contract/longshore.ts";
