// A message of a request, of whatever API it came by.

/** A message whose content has been brought to text parts. */
export interface Message {
  readonly role: string;
  readonly content: Content;
}

export interface Content {
  /** texts of the message's text parts, in order */
  readonly texts: readonly string[];
  /** parts that are not text: images, audio, files */
  readonly otherParts: number;
  /** what is malformed in it, and where; an error only if the message is read */
  readonly fault?: { readonly place: string; readonly finding: string };
}
