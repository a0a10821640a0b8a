/** Tests that run on Spring Boot 3.5 and, from the module boot4, on 4.1. */
package dev.sluice.spring;
