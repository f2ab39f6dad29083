// The descriptor of a child's pipe to its parent: it closes when the parent has ended.
export const lifeline = 4;
