@NullMarked
package dev.sluice.spring.web;

import org.jspecify.annotations.NullMarked;
