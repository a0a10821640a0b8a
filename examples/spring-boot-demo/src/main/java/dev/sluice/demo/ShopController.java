package dev.sluice.demo;

import static dev.sluice.spring.RateLimit.Count.ON_FAILURE;

import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.spring.RateLimit;
import java.util.Map;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** The requests of customers, each limited by the rule of its scenario. */
@RestController
class ShopController {
  /** The one-time code; a real shop would have sent it. */
  static final String CODE = "246810";

  private final BackOffice office;
  private final Limiter limiter;

  ShopController(BackOffice office, Limiter limiter) {
    this.office = office;
    this.limiter = limiter;
  }

  /** Two changes in two minutes, for the member and for the address. */
  @PostMapping("/bank-account")
  @RateLimit("BankAccountUpdate")
  public Map<String, String> changeBankAccount() {
    return Map.of("bankAccount", "changed");
  }

  /** Three wrong codes, then locked for half an hour; right ones cost nothing. */
  @PostMapping("/code")
  @RateLimit(value = "SecureForgotAccount", by = "login=#login", count = ON_FAILURE)
  public Map<String, String> enterCode(@RequestParam String login, @RequestParam String code) {
    if (!code.equals(CODE)) {
      throw new ResponseStatusException(HttpStatus.UNAUTHORIZED, "wrong code");
    }
    return Map.of("code", "accepted");
  }

  /** Whether a code may be entered; costs nothing. */
  @GetMapping("/code")
  @RateLimit(value = "SecureForgotAccount", by = "login=#login", cost = "0")
  public Map<String, String> mayEnterCode(@RequestParam String login) {
    return Map.of("code", "wanted");
  }

  /** Limited to what the back office allows. */
  @PostMapping("/code/resend")
  @RateLimit("LoginVerificationResend")
  public Map<String, String> resendCode(@RequestParam String account) {
    return Map.of("code", "sent");
  }

  /** A login whose password must be reset: two tries a day. */
  @PostMapping("/login")
  @RateLimit(value = "SecureLoginForceForgotAccount", by = "login=#login")
  public Map<String, String> login(@RequestParam String login) {
    throw new ResponseStatusException(HttpStatus.FORBIDDEN, "reset your password first");
  }

  /** Ten requests a minute for each member and promotion. */
  @GetMapping("/promotions")
  @RateLimit("PromoQuery")
  public Map<String, String> promotion(@RequestParam String promo) {
    return Map.of("promo", promo);
  }

  /** Five plays a minute for each member, who is given by an expression. */
  @PostMapping("/mini-game")
  @RateLimit(value = "SecureMiniGame", by = "member=#memberCode")
  public Map<String, String> playMiniGame(@RequestParam String memberCode) {
    return Map.of("game", "played by " + memberCode);
  }

  /** The back office sets how often a code may be sent again. */
  @PutMapping("/office/resends")
  public void allowResends(@RequestParam int attempts) {
    office.allow(attempts);
  }

  /** The back office lifts the lock of a customer who entered wrong codes. */
  @DeleteMapping("/office/locks")
  public Map<String, Boolean> lift(@RequestParam String login) {
    Identity customer = Identity.of("login", login);
    return Map.of("lifted", limiter.lift("SecureForgotAccount", customer));
  }

  /** The back office lifts the lock of a login at an address. */
  @DeleteMapping("/office/logins")
  public Map<String, Boolean> liftLogin(@RequestParam String login, @RequestParam String ip) {
    Identity customer = Identity.of("login", login, "ip", ip);
    return Map.of("lifted", limiter.lift("SecureLogin", customer));
  }
}
