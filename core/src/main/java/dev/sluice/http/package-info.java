/** HTTP support without a server: the facets of a request, and the response to a decision. */
@NullMarked
package dev.sluice.http;

import org.jspecify.annotations.NullMarked;
