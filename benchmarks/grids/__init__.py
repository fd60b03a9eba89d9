"""What perspectives cost, beside array programs: experiments E5.1 to E5.6 of the thesis."""
