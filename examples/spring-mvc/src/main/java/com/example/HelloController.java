package com.example;

import dev.sluice.spring.RateLimit;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
class HelloController {
  @GetMapping("/hello")
  @RateLimit("Hello")
  public String hello() {
    return "hello";
  }
}
