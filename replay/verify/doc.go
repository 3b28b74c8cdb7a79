// Package verify plays DDNet games again on their maps.
package verify
