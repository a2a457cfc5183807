export { diffArrays } from "diff";
