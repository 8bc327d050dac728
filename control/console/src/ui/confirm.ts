/** A question before something is taken away. State: the question that is up. */

import { shallowRef } from "vue";

export interface Question {
  title: string;
  text: string;
  facts?: string[];
  yes: string;
  danger?: boolean;
  /** Done while the dialog stays open; what it throws is shown there. */
  act: () => Promise<void>;
}

export const question = shallowRef<Question | null>(null);

export function confirm(asked: Question): void {
  question.value = asked;
}
