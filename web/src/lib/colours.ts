// Colours for the parts of a chart, apart from each other for most eyes, in light and in dark.
const PARTS = [
  "light-dark(#0f7b8a, #4fb6c6)",
  "light-dark(#e08a1e, #f0ad55)",
  "light-dark(#7a5bb5, #b096e6)",
  "light-dark(#3f8f4f, #7fce8e)",
  "light-dark(#c2504a, #ee8a83)",
  "light-dark(#5a7184, #9db3c4)",
];

export const partColour = (at: number): string => PARTS[Math.max(0, at) % PARTS.length] as string;
