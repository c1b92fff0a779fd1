"""Measuring: data sets in, answers through the façade that the product uses, figures out."""
