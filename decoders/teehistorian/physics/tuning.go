package physics

import (
	"math"
	"strconv"
	"strings"
)

// parameter is the number of a value that servers let one tune.
type parameter uint8

const (
	groundSpeed parameter = iota
	groundAccel
	groundFriction
	groundJump
	airJump
	airSpeed
	airAccel
	airFriction
	hookLength
	hookFireSpeed
	hookDragAccel
	hookDragSpeed
	gravity
	rampStart
	rampRange
	rampCurvature
	gunSpeed
	gunCurvature
	gunLifetime
	shotgunSpeed
	shotgunCurvature
	shotgunLifetime
	grenadeSpeed
	grenadeCurvature
	grenadeLifetime
	laserReach
	laserBounceDelay
	laserBounceCount
	laserBounceCost
	playerCollision
	playerHooking
	jetpackStrength
	shotgunStrength
	explosionStrength
	hammerStrength
	hookDuration
	hammerDelay
	gunDelay
	shotgunDelay
	grenadeDelay
	laserDelay
	ninjaDelay
	hammerHitDelay
	elasticityX
	elasticityY
	parameters
)

// tuning has a value for each parameter.
type tuning [parameters]float32

// defaults are the names of the parameters, as in tuning commands, and their values times 100.
var defaults = [parameters]struct {
	name  string
	value int32
}{
	groundSpeed:       {"ground_control_speed", 1000},
	groundAccel:       {"ground_control_accel", 200},
	groundFriction:    {"ground_friction", 50},
	groundJump:        {"ground_jump_impulse", 1320},
	airJump:           {"air_jump_impulse", 1200},
	airSpeed:          {"air_control_speed", 500},
	airAccel:          {"air_control_accel", 150},
	airFriction:       {"air_friction", 95},
	hookLength:        {"hook_length", 38000},
	hookFireSpeed:     {"hook_fire_speed", 8000},
	hookDragAccel:     {"hook_drag_accel", 300},
	hookDragSpeed:     {"hook_drag_speed", 1500},
	gravity:           {"gravity", 50},
	rampStart:         {"velramp_start", 55000},
	rampRange:         {"velramp_range", 200000},
	rampCurvature:     {"velramp_curvature", 140},
	gunSpeed:          {"gun_speed", 220000},
	gunCurvature:      {"gun_curvature", 125},
	gunLifetime:       {"gun_lifetime", 200},
	shotgunSpeed:      {"shotgun_speed", 275000},
	shotgunCurvature:  {"shotgun_curvature", 125},
	shotgunLifetime:   {"shotgun_lifetime", 20},
	grenadeSpeed:      {"grenade_speed", 100000},
	grenadeCurvature:  {"grenade_curvature", 700},
	grenadeLifetime:   {"grenade_lifetime", 200},
	laserReach:        {"laser_reach", 80000},
	laserBounceDelay:  {"laser_bounce_delay", 15000},
	laserBounceCount:  {"laser_bounce_num", 100000},
	laserBounceCost:   {"laser_bounce_cost", 0},
	playerCollision:   {"player_collision", 100},
	playerHooking:     {"player_hooking", 100},
	jetpackStrength:   {"jetpack_strength", 40000},
	shotgunStrength:   {"shotgun_strength", 1000},
	explosionStrength: {"explosion_strength", 600},
	hammerStrength:    {"hammer_strength", 100},
	hookDuration:      {"hook_duration", 125},
	hammerDelay:       {"hammer_fire_delay", 12500},
	gunDelay:          {"gun_fire_delay", 12500},
	shotgunDelay:      {"shotgun_fire_delay", 50000},
	grenadeDelay:      {"grenade_fire_delay", 50000},
	laserDelay:        {"laser_fire_delay", 80000},
	ninjaDelay:        {"ninja_fire_delay", 80000},
	hammerHitDelay:    {"hammer_hit_fire_delay", 32000},
	elasticityX:       {"ground_elasticity_x", 0},
	elasticityY:       {"ground_elasticity_y", 0},
}

// reset sets all values to what a server starts with.
func (t *tuning) reset() {
	for p := range t {
		t[p] = float32(defaults[p].value) / 100
	}
}

// setText sets a value by its name, case ignored, to hundredths in text, as in a recording's header. It reports whether there is such a value.
func (t *tuning) setText(name, hundredths string) bool {
	value, err := strconv.ParseInt(hundredths, 10, 32)
	return err == nil && t.set(name, int32(value))
}

// command sets a value by the arguments of a tune command.
func (t *tuning) command(name, value string) {
	if number, err := strconv.ParseFloat(leadingNumber(value), 32); err == nil && math.Abs(number) <= 1e6 {
		t.set(name, cut(float32(float32(number)*100)))
	}
}

// leadingNumber returns the number that the text begins with, as the server reads it: 0 for none.
func leadingNumber(text string) string {
	text = strings.TrimSpace(text)
	end := 0
	for end < len(text) && strings.IndexByte("+-.0123456789", text[end]) >= 0 {
		end++
	}
	if end == 0 {
		return "0"
	}
	return text[:end]
}

func (t *tuning) set(name string, hundredths int32) bool {
	for p := range t {
		if strings.EqualFold(defaults[p].name, name) {
			t[p] = float32(hundredths) / 100
			return true
		}
	}
	return false
}
