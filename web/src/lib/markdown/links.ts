// Which addresses a text of an agent may link to.

/** The address, if following it can do no more than open a page or a letter. */
export function safeHref(href: string): string | undefined {
  const plain = href.replace(/[\u0000-\u0020\u007f-\u00a0\u2028\u2029]/g, "");
  return /^(https?:\/\/|mailto:)/i.test(plain) ? plain : undefined;
}
