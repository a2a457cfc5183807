// Fills in the calculator of the capacity page.
import { bytes, capacity } from "./calculator.js";
import { ROWS } from "./measured.js";

const form = document.querySelector("form.calculator");
const whole = (value) => Math.round(value).toLocaleString("en");
const SHOWN = {
  appendsPerSecond: (value) => `${Number(value.toPrecision(3))} a second`,
  messagesDisk: bytes,
  searchDisk: bytes,
  oplog: bytes,
  oplogWithSearch: bytes,
  memory: bytes,
  processes: whole,
  connections: whole,
};

function calculate() {
  const given = Object.fromEntries([...form.querySelectorAll("input")].map(({ name, valueAsNumber }) => [name, valueAsNumber]));
  const isComplete = Object.values(given).every((value) => value >= 0);
  const found = isComplete ? capacity(ROWS, given) : {};
  for (const output of form.querySelectorAll("output")) {
    output.textContent = isComplete ? SHOWN[output.name](found[output.name]) : "–";
  }
}

form.addEventListener("input", calculate);
form.addEventListener("submit", (event) => event.preventDefault());
calculate();
