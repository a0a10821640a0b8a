@NullMarked
package dev.sluice.spring.mvc;

import org.jspecify.annotations.NullMarked;
