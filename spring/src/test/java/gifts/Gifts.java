package gifts;

import dev.sluice.spring.RateLimit;
import org.springframework.stereotype.Service;

@Service
class Gifts {
  @RateLimit(value = "Gift", by = "member=#member")
  public String claim(String member) {
    return "a gift for " + member;
  }
}
